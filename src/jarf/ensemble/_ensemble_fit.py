"""Fitting an ensemble: trials, fits, held-out predictions and weights, within a time limit."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from jarf._progress import Stages
from jarf.ensemble._blending import greedy_weights, log_losses, squared_errors
from jarf.ensemble._cross_fit import HeldOut, Split
from jarf.ensemble._ensemble_members import PREVIEW_ROWS, Member, Task
from jarf.ensemble._ensemble_report import EnsembleReport
from jarf.ensemble._holdout import ScoredRows
from jarf.trees import stream

# With at least TRIAL_FROM rows, or under a time limit, members are tried on a subsample first: at
# most TRIAL_LEARN training rows (HURRIED_LEARN under a time limit) and TRIAL_SCORE scored rows.
TRIAL_FROM, TRIAL_LEARN, HURRIED_LEARN, TRIAL_SCORE = 8000, 1000, 300, 2000
# A trial on fewer rows only measures time.
LEAST_TRIED = 100
# Share of the time limit after which no further member is tried.
TRIAL_SHARE = 0.25
# A member is dropped if its trial loss exceeds HOPELESS times the smallest one, and the difference
# is more than CERTAIN standard errors.
HOPELESS, CERTAIN = 1.3, 5.0
# A previewed member is dropped if the mean product of its errors and those of the others exceeds
# their mean square by more than this share. It would improve with more rows: in 33 PMLB tables, no
# member beyond this limit got a weight above 0.1.
SLIM = 0.02
# Estimated time of held-out predictions, as a multiple of the time of the fit on all rows.
HELD_OUT_SHARE = {True: 1.5, False: 0.6}  # by whether there are folds


def _is_hopeless(losses: np.ndarray, best: np.ndarray, rows: ScoredRows) -> bool:
    """Return whether losses are so much larger than the best ones that more rows will not help."""
    lead, error = rows.mean_and_error(losses - best)
    return rows.mean(losses) > HOPELESS * rows.mean(best) and lead > CERTAIN * error


class Clock:
    """Time limit of a fit.

    Parameters
    ----------
    limit : float or None
        Seconds; None: no limit.
    """

    def __init__(self, limit: float | None, now: Callable[[], float] = time.perf_counter):
        self.limit, self.now = limit, now
        self.start = now()

    def left(self) -> float:
        return np.inf if self.limit is None else self.limit - (self.now() - self.start)

    def used(self) -> float:
        """Return the share of the limit that has passed."""
        return 0.0 if self.limit is None else 1.0 - self.left() / self.limit


class Decision:
    """State of an ensemble during its fit: members, held-out predictions and weights.

    Parameters
    ----------
    members : list of Member
    task : Task
    splits : list of (learn, score)
        Empty if there are too few rows to hold some out. A booster's own splits replace them.
    seed : int
    n_jobs : int or None
    clock : Clock
    groups : ndarray of shape (n_rows,) of int or None, default=None
        Identical rows have the same number; None: few rows have a copy.
    """

    def __init__(
        self,
        members: list[Member],
        task: Task,
        splits: list[Split],
        seed: int,
        n_jobs: int | None,
        clock: Clock,
        groups: np.ndarray | None = None,
    ):
        self.members, self.task, self.splits = members, task, splits
        self.seed, self.n_jobs, self.clock, self.groups = seed, n_jobs, clock, groups
        self.estimates: dict[str, float] = {}
        self.weights: dict[str, float] = {}
        self.held_out: HeldOut | None = None

    def run(self, stages: Stages, calibrate: bool) -> None:
        """Try and fit the members, and choose their weights."""
        if len(self._open()) > 1 and (
            len(self.task.y) >= TRIAL_FROM or self.clock.limit is not None
        ):
            with stages.stage("trial"):
                self._try()
        for member in self._in_order():
            needed = self.estimates.get(member.name, 0.0)
            if self.clock.left() < needed:
                if any(other.is_ready for other in self.members):
                    member.outcome = "not fitted: no time left"
                    continue
                member.simplify()
            with stages.stage(member.name):
                self._score(member)
        self._weigh(calibrate)
        for member in self.members:
            if self.weights.get(member.name) and member.fitted is None:
                with stages.stage(member.name):
                    weight = self.weights[member.name]
                    member.fit_all(self.task, self.seed, self.n_jobs, weight)
        if calibrate:
            for member in self.members:
                member.calibrate()

    def _open(self) -> list[Member]:
        return [member for member in self.members if not member.outcome]

    def _in_order(self) -> list[Member]:
        """Order members: those that score themselves first, then the cheapest if time is limited.

        The others are scored on the rows that the first one held out.
        """

        def place(member: Member) -> tuple[bool, float]:
            limited = self.clock.limit is not None
            needed = self.estimates.get(member.name, 0.0) if limited else 0.0
            return not (member.scores_itself and needed < self.clock.left()), needed

        return sorted(self._open(), key=place)

    def _try(self) -> None:
        """Fit all members to a few rows, to estimate their loss and fitting time."""
        n = len(self.task.y)
        order = stream(self.seed, "trial").permutation(n)
        n_learn = max(1, min(TRIAL_LEARN, n // 3))
        if self.clock.limit is not None:
            n_learn = max(1, min(HURRIED_LEARN, n // 10))
        others = order[n_learn:]
        if self.groups is not None:  # a copy among the learning rows would reveal the target
            free = others[~np.isin(self.groups[others], self.groups[order[:n_learn]])]
            others = free if len(free) else others
        learn = self.task.only(np.sort(order[:n_learn]))
        scored = np.sort(others[:TRIAL_SCORE])
        score = self.task.only(scored)
        losses = self._losses(score)
        found: dict[str, np.ndarray] = {}
        for member in self._open():
            if found and self.clock.used() > TRIAL_SHARE:
                member.outcome = "not tried: no time left"
                continue
            before = member.seconds
            model = member.fit(learn, self.seed, self.n_jobs)
            found[member.name] = losses(score.predictions(model, score.X))
            scoring = 0.0 if member.scores_itself else HELD_OUT_SHARE[len(self.splits) > 1]
            grown = (n / n_learn) ** member.growth
            self.estimates[member.name] = (member.seconds - before) * grown * (1.0 + scoring)
        if n_learn < LEAST_TRIED:
            return
        groups = None if self.groups is None else self.groups[scored]
        rows = ScoredRows(score.row_weights, groups)
        best = min(found, key=lambda name: rows.mean(found[name]))
        for member in self._open():
            if _is_hopeless(found[member.name], found[best], rows):
                member.outcome = f"dropped after a trial on {n_learn} rows"

    def _score(self, member: Member) -> None:
        """Predict held-out rows: those of the splits, or those that the member held out itself.

        A member is fitted to all rows once it has a weight; if time is limited, before it is
        scored, so that there is always one to predict with.
        """
        scores_itself = member.scores_itself and not any(len(m.means) for m in self.members)
        before = member.seconds
        if not self.splits or self.clock.limit is not None:
            member.fit_all(self.task, self.seed, self.n_jobs)
        elif scores_itself:
            member.decide(self.task, self.seed, self.n_jobs)
        if scores_itself and (splits := member.take_held_out(self.task)):
            self.splits = splits
            return
        if not self.splits:
            return
        if self.clock.left() < (member.seconds - before) * HELD_OUT_SHARE[len(self.splits) > 1]:
            member.outcome = "not scored: no time left"
            return
        if self._cannot_win(member):
            member.outcome = f"dropped after a trial on {PREVIEW_ROWS} rows"
            return
        member.predict_held_out(self.task, self.splits, self.seed, self.n_jobs)

    def _cannot_win(self, member: Member) -> bool:
        """Return whether a preview of the member would raise the error of the mean of the others.

        A small weight for it changes the mean squared error in proportion to the mean product of
        its errors and theirs, less their mean square.
        """
        scored = [other for other in self.members if len(other.means)]
        if not scored or member.fitted is not None:
            return False
        found = member.preview(self.task, self.splits[0], self.seed, self.n_jobs)
        if found is None:
            return False
        rows = self.splits[0][1]
        observed = self.task.observed[rows]
        errors = np.mean([other.means[: len(rows)] for other in scored], axis=0) - observed
        products = (errors * (found - observed)).sum(axis=1)
        weights = self.task.row_weights[rows]
        return bool(weights @ products > (1.0 + SLIM) * (weights @ (errors**2).sum(axis=1)))

    def _losses(self, task: Task) -> Callable[[np.ndarray], np.ndarray]:
        return (log_losses if task.n_classes else squared_errors)(task.observed)

    def _weigh(self, calibrate: bool) -> None:
        """Set the weights, the ensemble's held-out predictions and the outcomes."""
        scored = [member for member in self.members if len(member.means)]
        if not scored:
            fitted = [member for member in self.members if member.fitted is not None]
            if self.clock.limit is not None and any(member.outcome for member in fitted):
                fitted = fitted[:1]  # unscored members are not averaged
            self.weights = {member.name: 1.0 / len(fitted) for member in fitted}
            return
        rows = np.concatenate([score for _, score in self.splits])
        observed, row_weights = self.task.observed[rows], self.task.row_weights[rows]
        if calibrate and self.task.n_classes:
            for member in scored:
                member.fit_calibration(observed.argmax(axis=1), row_weights)
        losses = (log_losses if self.task.n_classes else squared_errors)(observed)
        found = greedy_weights(np.stack([m.means for m in scored]), losses, row_weights)
        self.weights = {m.name: float(w) for m, w in zip(scored, found, strict=True) if w > 0}
        kept = [member for member in scored if member.name in self.weights]
        means, spreads = blend(
            [member.means for member in kept],
            [member.spreads for member in kept],
            [self.weights[member.name] for member in kept],
        )
        self.held_out = HeldOut(means, spreads, observed, row_weights)

    def report(self) -> EnsembleReport:
        """Return the loss, weight, time and outcome of every member."""
        measure = "log loss" if self.task.n_classes else "squared error"
        held_out, mean = self.held_out, np.nan
        rows, losses = [], None
        if held_out is not None:
            losses = (log_losses if self.task.n_classes else squared_errors)(held_out.observed)
            mean = float(np.average(losses(held_out.means), weights=held_out.weights))
        for member in self.members:
            weight = self.weights.get(member.name, 0.0)
            loss = np.nan
            if losses is not None and held_out is not None and len(member.means):
                loss = float(np.average(losses(member.means), weights=held_out.weights))
            outcome = "used" if weight > 0 else member.outcome or "gains nothing: not kept"
            rows.append(
                {
                    "member": member.name,
                    "loss": loss,
                    "weight": weight,
                    "seconds": member.seconds,
                    "outcome": outcome,
                }
            )
        return EnsembleReport(rows, measure, mean, 0 if held_out is None else len(held_out.means))


def blend(
    means: list[np.ndarray], spreads: list[np.ndarray | None], weights: list[float]
) -> tuple[np.ndarray, np.ndarray]:
    """Average the members' predictions.

    Parameters
    ----------
    means : list of ndarray of shape (n_rows, n_outputs)
    spreads : list of ndarray of shape (n_rows, n_outputs) or None
        The spread within a member, if it has one.
    weights : list of float
        With sum one.

    Returns
    -------
    mean : ndarray of shape (n_rows, n_outputs)
    spread : ndarray of shape (n_rows, n_outputs)
        Combined spread between and within members.
    """
    mean = sum(weight * each for weight, each in zip(weights, means, strict=True))
    variance = np.zeros_like(means[0])
    for weight, each, spread in zip(weights, means, spreads, strict=True):
        variance += weight * (each - mean) ** 2
        if spread is not None:
            variance += weight * spread**2
    return np.asarray(mean), np.sqrt(variance)
