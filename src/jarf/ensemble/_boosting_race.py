"""Choose the geometry and the number of rounds on held-out rows.

Neither trees nor surrogates see the held-out rows. Boosters of all geometries grow in parallel on
the same learning rows and are scored on the held-out rows; the better half continues, and so do
plain axes unless the last heat left them far behind. Each is evaluated at the round of its lowest
loss, so that learning faster gives no advantage. Small tables use cross-fitting instead of a single
split.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jarf._threads import thread_map
from jarf.ensemble._cycles import Cycle
from jarf.ensemble._holdout import ScoredRows
from jarf.ensemble._race_result import RaceResult
from jarf.ensemble._rounds import Rounds

# Rounds between two evaluations of the losses, and before the worse half of the racers is dropped.
STEP = 10
HEATS = (20, 60)
# A geometry must lead plain axes by more than CLEAR standard errors to win. If it leads by HOPELESS
# standard errors after the last heat, plain axes leave the race.
CLEAR, HOPELESS = 0.5, 4.0
# The final model is fitted on more rows and needs more rounds.
MORE_ROUNDS = 1.1
# Its errors are smaller than those of the boosters on folds, in proportion to this power of their
# share of the rows.
FOLD_ERRORS = 0.35


def fold_error_scale(n_folds: int) -> float:
    """Return the errors of the final model as a multiple of those at held-out folds.

    With a single split, rows are many and the difference is small: one.
    """
    return (1.0 - 1.0 / n_folds) ** FOLD_ERRORS if n_folds > 1 else 1.0


@dataclass(frozen=True)
class Stopping:
    """Early stopping rule of a booster.

    Parameters
    ----------
    max_iter : int
    n_iter_no_change : int
    tol : float
        A loss must decrease by more than this to count as an improvement.
    """

    max_iter: int
    n_iter_no_change: int
    tol: float

    def best(self, losses: np.ndarray) -> int:
        """Return the round of the lowest loss; round 0 is the constant model."""
        return int(np.argmin(losses))

    def is_over(self, losses: np.ndarray) -> bool:
        """Return whether the last rounds brought no improvement."""
        n_rounds = len(losses) - 1
        if n_rounds >= self.max_iter:
            return True
        if n_rounds <= self.n_iter_no_change:
            return False
        before = losses[: -self.n_iter_no_change].min()
        return not losses[-self.n_iter_no_change :].min() < before - self.tol


@dataclass
class Racer:
    """One geometry, with a booster for every split.

    Parameters
    ----------
    cycle : Cycle
    runs : list of Rounds
    shares : ndarray
        The weight of each split's scored rows.
    """

    cycle: Cycle
    runs: list[Rounds]
    shares: np.ndarray
    seconds: float = 0.0
    is_over: bool = field(default=False)

    @property
    def losses(self) -> np.ndarray:
        """Held-out loss after every round, starting with the constant model."""
        curves = np.array([run.scored_losses for run in self.runs])
        return np.asarray(self.shares @ curves / self.shares.sum())

    def row_losses(self, n_rounds: int) -> np.ndarray:
        """Return the loss of every scored row after ``n_rounds`` rounds, split by split."""
        return np.concatenate([run.losses_after(n_rounds) for run in self.runs])


def advance(racers: Sequence[Racer], until: int, stopping: Stopping, n_jobs: int | None) -> None:
    """Grow racers up to a round, or until early stopping."""

    def raise_flags() -> None:
        for racer in racers:
            for run in racer.runs:
                run.stop[0] = 1

    while running := [
        racer for racer in racers if not racer.is_over and racer.runs[0].n_rounds < until
    ]:
        steps = [
            (racer, run, min(STEP, stopping.max_iter - run.n_rounds))
            for racer in running
            for run in racer.runs
        ]
        for _ in thread_map(_step, steps, n_jobs, raise_flags):
            pass
        for racer in running:
            racer.is_over = stopping.is_over(racer.losses)


def _step(step: tuple[Racer, Rounds, int]) -> None:
    racer, run, n_rounds = step
    start = time.perf_counter()
    run.advance(n_rounds)
    racer.seconds += time.perf_counter() - start


@dataclass(frozen=True)
class Chosen:
    """The decisions on held-out rows.

    Parameters
    ----------
    cycle : Cycle
    n_rounds : int
        The round of the lowest held-out loss.
    losses : ndarray
        Held-out loss of the winner after every round, starting with the constant model.
    race : RaceResult or None
    held_out : ndarray of shape (n_scored, n_raw)
        Sums of the winner's trees at the held-out rows, split by split.
    observed : ndarray
        The targets of these rows, in the form the loss expects.
    weights : ndarray of shape (n_scored,)
    rows : list of ndarray
        The numbers of these rows, one array per split.
    """

    cycle: Cycle
    n_rounds: int
    losses: np.ndarray
    race: RaceResult | None
    held_out: np.ndarray
    observed: np.ndarray
    weights: np.ndarray
    rows: list[np.ndarray] = field(default_factory=list)


def choose(
    racers: Sequence[Racer],
    rows: ScoredRows,
    stopping: Stopping,
    measure: str,
    n_jobs: int | None = None,
    note: Callable[[str], None] = lambda text: None,
) -> Chosen:
    """Run the race and find the number of rounds.

    Parameters
    ----------
    racers : sequence of Racer
        Plain axes first. For a single racer only the number of rounds is tuned, without a race.
    rows : ScoredRows
        The scored rows, split by split.
    stopping : Stopping
    measure : str
        Name of the loss.
    n_jobs : int
    note : callable
        Prints a progress line.
    """
    running = list(racers)
    for heat in (*HEATS, stopping.max_iter) if len(running) > 1 else (stopping.max_iter,):
        advance(running, heat, stopping, n_jobs)
        running.sort(key=lambda racer: racer.losses.min())
        note(
            f"{max(racer.runs[0].n_rounds for racer in running)} rounds: "
            + ", ".join(f"{racer.cycle.name} {racer.losses.min():.5g}" for racer in running)
        )
        if heat < stopping.max_iter:
            kept = running[: max(1, len(running) // 2)]
            plain = racers[0]
            gone = plain in kept or plain not in running
            if heat == HEATS[-1] and not gone:
                gone = _is_hopeless(plain, kept[0], rows, stopping)
            running = kept if gone else [*kept, plain]
    best, race = running[0], None
    if len(racers) > 1:
        best, race = _decide(racers, running, rows, stopping, measure)
    losses = best.losses
    found = stopping.best(losses)
    held_out = np.concatenate([run.raw_after(found) for run in best.runs])
    observed = np.concatenate([run.scored.y for run in best.runs if run.scored is not None])
    return Chosen(best.cycle, found, losses, race, held_out, observed, rows.weights)


def _is_hopeless(plain: Racer, best: Racer, rows: ScoredRows, stopping: Stopping) -> bool:
    """Return whether plain axes are far behind the best geometry."""
    lost = plain.row_losses(stopping.best(plain.losses))
    lead, error = rows.mean_and_error(lost - best.row_losses(stopping.best(best.losses)))
    return lead > HOPELESS * error


def _decide(
    racers: Sequence[Racer],
    finalists: Sequence[Racer],
    rows: ScoredRows,
    stopping: Stopping,
    measure: str,
) -> tuple[Racer, RaceResult]:
    """Compare all racers with plain axes row by row; plain axes win ties.

    A racer dropped early is compared with plain axes after the same number of rounds; if plain axes
    left early, all are.
    """
    plain = racers[0]
    table: list[dict[str, Any]] = []
    for racer in racers:
        n_rounds: int | None = racer.runs[0].n_rounds + 1
        if plain not in finalists:
            n_rounds = 1 + min(racer.runs[0].n_rounds, plain.runs[0].n_rounds)
        elif racer in finalists:
            n_rounds = None
        lost = racer.row_losses(stopping.best(racer.losses[:n_rounds]))
        of_plain = plain.row_losses(stopping.best(plain.losses[:n_rounds]))
        gain, error = rows.mean_and_error(of_plain - lost)
        table.append(
            {
                "geometry": racer.cycle.name,
                "loss": rows.mean(lost),
                "gain": gain,
                "standard_error": error,
                "n_trees": racer.runs[0].n_rounds,
                "seconds": racer.seconds,
                "finalist": racer in finalists,
            }
        )
    names = {racer.cycle.name: racer for racer in finalists}
    ranked = sorted(
        (row for row in table if row["geometry"] in names), key=lambda row: -row["gain"]
    )
    first = ranked[0]
    winner = first["geometry"]
    if plain not in finalists:
        winner = finalists[0].cycle.name
    elif not first["gain"] > CLEAR * first["standard_error"]:
        winner = plain.cycle.name
    result = RaceResult((winner,), table, measure=measure, threshold=CLEAR, plain=plain.cycle.name)
    return names[winner], result
