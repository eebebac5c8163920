"""The race: choose the geometry on held-out rows, whose labels no surrogate saw.

The out-of-bag score of an aligned forest is biased, because its directions have seen every
training label. So the rows are split: surrogates and small pilot forests learn from one part, and
the pilots are scored on the other. Plain axes take part in every race and win unless they are
clearly beaten. If rows are few, folds take turns (cross-fitting).

Regressors are compared by squared error, classifiers by a smooth form of Cohen's kappa: a forest
with less confident probabilities may have a worse Brier score and yet predict the right class more
often. Probabilities are compared after matching their average confidence; otherwise confidence
would be mistaken for accuracy. Finalists that cannot be distinguished from the winner share the
trees of the forest with it, which costs nothing and reduces the effect of a wrong choice. Their
pilots also tune ``min_samples_split``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from jarf.ensemble._geometries import PLAIN, Geometry
from jarf.ensemble._holdout import CLEAR, CLEAR_OF_SEVERAL, ScoredRows
from jarf.ensemble._race_result import KAPPA, SQUARED_ERROR, RaceResult
from jarf.ensemble._stopping import Answers, CutBack, answers_of, choose_size
from jarf.trees import Forest

# Trees added to a pilot in each round, and the number of racers that run in the rounds after the
# first; plain axes always do. Few trees show which racers are bad, not which finalist is best.
ROUNDS, KEPT = (4, 4, 16), (4, 2)
# The smooth kappa uses p ** SHARPNESS, scaled to sum to one, in place of the predicted class. The
# power of a racer is chosen on this many rows to match the average confidence of the plain forest.
SHARPNESS, MATCHED_ROWS = 6.0, 500


class Pilot:
    """A small forest that grows round by round, and its predictions.

    Parameters
    ----------
    grow : callable
        ``grow(n_trees) -> Forest`` of fresh trees.
    X : ndarray of shape (n_score, d), float32
        Rows it is scored on.
    observed : ndarray of shape (n_score, n_outputs)
        Class indicators, or the responses.
    n_rows : float
        Rows that each tree sees.
    classifies : bool
        Whether the outputs are classes.
    """

    def __init__(
        self,
        grow: Callable[[int], Forest],
        X: np.ndarray,
        observed: np.ndarray,
        n_rows: float,
        classifies: bool,
    ):
        self.grow, self.X, self.observed, self.n_rows = grow, X, observed, n_rows
        self.classifies = classifies
        self.grown: list[tuple[Forest, np.ndarray]] = []  # and the leaves of X
        self._cut_back: list[CutBack] = []
        self.n_trees = 0
        self.answers = Answers(np.zeros(observed.shape), np.zeros(len(X)))

    def advance(self, n_trees: int, n_jobs) -> None:
        """Grow more trees."""
        forest = self.grow(n_trees)
        leaves = forest.apply(self.X, n_jobs) + forest.roots
        self.grown.append((forest, leaves))
        self.answers += answers_of(forest.leaf_values(leaves))
        self.n_trees += n_trees

    def cut_back(self, size: int) -> Answers:
        """Predict with the same trees, with nodes of fewer rows turned into leaves."""
        total = Answers(np.zeros(self.observed.shape), np.zeros(len(self.X)))
        for values in self._values_cut_back(size):
            total += answers_of(values)
        return total

    def tree_answers(self, size: int) -> np.ndarray:
        """Return the predictions of the single pruned trees: (n_score, n_trees, n_outputs)."""
        return np.concatenate(list(self._values_cut_back(size)), axis=1)

    def _values_cut_back(self, size: int) -> Iterator[np.ndarray]:
        for forest, _ in self.grown[len(self._cut_back) :]:
            self._cut_back.append(CutBack(forest, self.n_rows))
        for cut, (_, leaves) in zip(self._cut_back, self.grown, strict=True):
            yield cut.values_at(leaves, size)

    @property
    def means(self) -> np.ndarray:
        """Predictions at the scored rows."""
        return self.answers.sums / self.n_trees

    def losses(self) -> np.ndarray:
        """Squared error per row, as for a forest of infinitely many such trees."""
        spread = spread_of(self.answers, self.n_trees)
        return ((self.means - self.observed) ** 2).sum(axis=1) - spread


def spread_of(answers: Answers, n_trees: int) -> np.ndarray:
    """Excess squared error over an infinite forest, per row.

    The mean of T trees has an additional squared error: the variance of a tree divided by T. It is
    estimated from the spread of the trees and subtracted, so that pilots can be small.
    """
    mean = answers.sums / n_trees
    variance = np.maximum(answers.squares / n_trees - (mean**2).sum(axis=1), 0.0)
    return variance / (n_trees - 1)


@dataclass
class Racer:
    """One geometry in the race.

    Parameters
    ----------
    geometry : Geometry
    """

    geometry: Geometry
    pilots: list[Pilot] = field(default_factory=list)
    losses: np.ndarray = field(default_factory=lambda: np.empty(0))
    gains: np.ndarray = field(default_factory=lambda: np.empty(0))
    n_trees: int = 0
    seconds: float = 0.0

    def advance(self, n_trees: int, n_jobs) -> None:
        """Grow more trees and score all of them again."""
        start = time.perf_counter()
        for pilot in self.pilots:
            pilot.advance(n_trees, n_jobs)
        self.n_trees += n_trees
        self.losses = np.concatenate([pilot.losses() for pilot in self.pilots])
        self.seconds += time.perf_counter() - start

    @property
    def means(self) -> np.ndarray:
        """Predictions at the scored rows."""
        return np.concatenate([pilot.means for pilot in self.pilots])


def run_race(
    geometries: Sequence[Geometry],
    pilots_of: Callable[[Geometry], list[Pilot]],
    rows: ScoredRows,
    n_jobs=None,
    note: Callable[[str], None] = lambda text: None,
    sizes: Sequence[int] = (),
) -> RaceResult:
    """Eliminate racers round by round; plain axes stay until the end.

    Parameters
    ----------
    geometries : sequence of Geometry
        Plain axes among them.
    pilots_of : callable
        The pilots of a geometry, one for each split.
    rows : ScoredRows
        The scored rows, splits one after the other.
    n_jobs : int
    note : callable
        Shows a line.
    sizes : sequence of int, default=()
        Candidate values of ``min_samples_split``, ascending; the winners' pilots choose.

    Returns
    -------
    RaceResult
    """
    racers = [Racer(geometry, pilots_of(geometry)) for geometry in geometries]
    plain = next(racer for racer in racers if racer.geometry == PLAIN)
    running = racers
    for round_, n_trees in enumerate(ROUNDS):
        for racer in running:
            racer.advance(n_trees, n_jobs)
        _compare(running, plain, rows.weights)
        running = sorted(running, key=lambda racer: -rows.mean(racer.gains))
        note(f"round {round_ + 1}: " + " > ".join(racer.geometry.name for racer in running))
        if round_ < len(KEPT):
            kept = running[: KEPT[round_]]
            running = kept if plain in kept else [*kept, plain]
    result = _result(racers, running, rows)
    if not sizes:
        return result
    winners = [racer for racer in running if racer.geometry.name in result.winners]
    alone = winners == [plain]  # keep a plain forest's default
    size, losses = choose_size(
        lambda size: _losses_cut_back(winners, size), rows, sizes, clearly=alone
    )
    note(f"min_samples_split = {size}")
    return replace(result, sizes=losses, min_samples_split=size)


def _losses_cut_back(racers: list[Racer], size: int) -> np.ndarray:
    """Squared errors of a forest shared by these racers, with pruned trees."""
    losses = []
    for split, pilot in enumerate(racers[0].pilots):
        found = [racer.pilots[split].cut_back(size) for racer in racers]
        mean = sum(answers.sums for answers in found) / (len(racers) * pilot.n_trees)
        spread = sum(spread_of(answers, pilot.n_trees) for answers in found) / len(racers) ** 2
        losses.append(((mean - pilot.observed) ** 2).sum(axis=1) - spread)
    return np.concatenate(losses)


class PlainForest:
    """The plain forest's probabilities, with which classifiers are compared.

    Kappa is (agreement - chance) / (1 - chance). Linearised around the kappa of the plain forest,
    it is a mean over rows, so two forests can be compared row by row.

    Parameters
    ----------
    plain : ndarray of shape (n_rows, n_classes)
        Its probabilities.
    observed : ndarray of shape (n_rows, n_classes)
        Class indicators.
    weights : ndarray of shape (n_rows,)
    """

    def __init__(self, plain: np.ndarray, observed: np.ndarray, weights):
        self._observed = observed
        self._frequent = np.average(observed, axis=0, weights=weights)
        named = _sharpened(plain, SHARPNESS)
        agreement = np.average((named * observed).sum(axis=1), weights=weights)
        chance = float(np.average(named, axis=0, weights=weights) @ self._frequent)
        self._rest = max(1.0 - chance, 1e-12)
        self._kappa = (agreement - chance) / self._rest
        self._sureness = _sureness(_log_ratios(_some_rows(plain)), SHARPNESS)
        self.own = self._of(named)

    def smooth_kappa(self, means: np.ndarray) -> np.ndarray:
        """Contribution of each row to a smooth Cohen's kappa of a forest's probabilities.

        They are sharpened to the average confidence of the sharpened plain forest.
        """
        power = _equal_power(_log_ratios(_some_rows(means)), self._sureness)
        return self._of(_sharpened(means, power))

    def _of(self, named: np.ndarray) -> np.ndarray:
        agreement = (named * self._observed).sum(axis=1)
        return (agreement - (1.0 - self._kappa) * (named @ self._frequent)) / self._rest


def _some_rows(probabilities: np.ndarray) -> np.ndarray:
    return probabilities[:: -(-len(probabilities) // MATCHED_ROWS)]


def _sharpened(probabilities: np.ndarray, power: float) -> np.ndarray:
    shares = np.exp(power * _log_ratios(probabilities))
    return shares / shares.sum(axis=1, keepdims=True)


def _log_ratios(probabilities: np.ndarray) -> np.ndarray:
    """Logarithms of probabilities over the largest of the row; a zero becomes very small."""
    ratios = probabilities / probabilities.max(axis=1, keepdims=True)
    return np.log(np.maximum(ratios, np.finfo(np.float64).tiny))


def _sureness(log_ratios: np.ndarray, power: float) -> float:
    """Return the mean of the largest sharpened probability."""
    return float(np.mean(1.0 / np.exp(power * log_ratios).sum(axis=1)))


def _equal_power(log_ratios: np.ndarray, sureness: float) -> float:
    """Return the power that gives a forest this average confidence."""
    low, high = SHARPNESS / 8, SHARPNESS * 8
    for _ in range(12):
        power = np.sqrt(low * high)
        if _sureness(log_ratios, power) < sureness:
            low = power
        else:
            high = power
    return float(np.sqrt(low * high))


def _result(racers: list[Racer], finalists: list[Racer], scored: ScoredRows) -> RaceResult:
    plain = next(racer for racer in racers if racer.geometry == PLAIN)
    gains = {racer.geometry.name: racer.gains for racer in racers}
    rows: list[dict[str, Any]] = []
    for racer in racers:
        mean, error = scored.mean_and_error(gains[racer.geometry.name])
        rows.append(
            {
                "geometry": racer.geometry.name,
                "loss": scored.mean(racer.losses),
                "gain": mean,
                "standard_error": error,
                "n_trees": racer.n_trees,
                "seconds": racer.seconds,
            }
        )
    names = {racer.geometry.name for racer in finalists}
    ranked = sorted((row for row in rows if row["geometry"] in names), key=lambda row: -row["gain"])
    first = ranked[0]
    if not first["gain"] > CLEAR_OF_SEVERAL * first["standard_error"]:
        first = next(row for row in ranked if row["geometry"] == PLAIN.name)
    winners = [first["geometry"]]
    for row in ranked:
        lead, error = scored.mean_and_error(gains[winners[0]] - gains[row["geometry"]])
        if row is not first and row["gain"] > 0 and lead <= CLEAR * error:
            winners.append(row["geometry"])
    pilot = plain.pilots[0]
    measure = KAPPA if pilot.classifies and pilot.observed.shape[1] > 1 else SQUARED_ERROR
    return RaceResult(tuple(winners), rows, measure=measure)


def _compare(racers: list[Racer], plain: Racer, weights) -> None:
    """Set the gains over plain axes, per scored row, of racers with as many trees."""
    if not plain.pilots[0].classifies:
        for racer in racers:
            racer.gains = plain.losses - racer.losses
        return
    observed = np.concatenate([pilot.observed for pilot in plain.pilots])
    against = gains_over(plain.means, observed, weights, classifies=True)
    for racer in racers:
        racer.gains = np.zeros(len(observed)) if racer is plain else against(racer.means)


def row_gains(
    means: np.ndarray, plain: np.ndarray, observed: np.ndarray, weights=None, *, classifies: bool
) -> np.ndarray:
    """Return the gain of one set of predictions over a plainer one, per row.

    Parameters
    ----------
    means, plain, observed : ndarray of shape (n_rows, n_outputs)
        Probabilities and class indicators, or responses.
    weights : ndarray of shape (n_rows,), default=None
    classifies : bool

    Returns
    -------
    ndarray of shape (n_rows,)
        Shares of the gain in smooth kappa, or in squared error.
    """
    return gains_over(plain, observed, weights, classifies=classifies)(means)


def gains_over(
    plain: np.ndarray, observed: np.ndarray, weights=None, *, classifies: bool
) -> Callable[[np.ndarray], np.ndarray]:
    """Return ``gains(means)``: as :func:`row_gains`, for several sets of predictions."""
    if not classifies or observed.shape[1] == 1:
        squares = (plain - observed) ** 2
        return lambda means: (squares - (means - observed) ** 2).sum(axis=1)
    forest = PlainForest(plain, observed, weights)
    return lambda means: forest.smooth_kappa(means) - forest.own
