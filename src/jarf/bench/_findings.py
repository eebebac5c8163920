"""Paired differences between methods, whether they exceed noise, and the answer in sentences."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from jarf.bench._errors import TableError
from jarf.bench._statistics import PairedTest, corrected_t_test, holm
from jarf.bench.experiments import Results

__all__ = [
    *("LEVEL", "METRICS", "METRICS_OF", "Pair", "advice", "answer", "deciding_metric"),
    "paired_methods",
]

# Geometries of plain axes, of the forest and of boosting.
PLAIN_NAMES = ("axes", "symmetric")

METRICS = {  # label, and whether high or low is better
    "kappa": ("Cohen's kappa", "high"),
    "accuracy": ("accuracy", "high"),
    "macro_f1": ("macro F1", "high"),
    "roc_auc": ("ROC AUC", "high"),
    "average_precision": ("average precision", "high"),
    "brier": ("Brier score", "low"),
    "log_loss": ("log-loss", "low"),
    "ece": ("calibration error", "low"),
    "r2": ("R²", "high"),
    "rmse": ("RMSE (s.d.)", "low"),
}
METRICS_OF = {
    "classification": (
        *("kappa", "accuracy", "macro_f1", "roc_auc", "average_precision"),
        *("brier", "log_loss", "ece"),
    ),
    "regression": ("r2", "rmse"),
}
_WORDS = {
    "RF": "the random forest",
    "XGB": "tuned XGBoost",
    "JARF": "the paper's JARF",
    "JF": "the Jacobian forest",
    "JB": "Jacobian boosting",
    "JE": "the Jacobian ensemble",
    "HGB": "scikit-learn's histogram boosting",
    "LGBM": "LightGBM",
}
_BOOSTERS = ("XGB", "LGBM", "CatBoost", "HGB", "YDF-GBT", "YDF-oblique-GBT")
LEVEL = 0.05


def deciding_metric(task: str, metric: str | None) -> str:
    """Return the requested metric, or the task's default; a metric of another task is an error."""
    known = METRICS_OF[task]
    if metric is not None and metric not in known:
        raise TableError(f"the metric of {task} is one of {', '.join(known)}, not {metric!r}")
    return metric or known[0]


@dataclass(frozen=True)
class Pair:
    """The gain of one method over another; positive means better, whatever the metric."""

    first: str
    second: str
    test: PairedTest
    p: float  # Holm's

    @property
    def verdict(self) -> str:
        """Say whether the difference is more than noise."""
        if self.p < LEVEL:
            return "more than noise"
        return "perhaps more than noise" if self.test.p < LEVEL else "within noise"

    def as_dict(self) -> dict[str, Any]:
        """A plain dict for JSON."""
        test = self.test
        values = {"gain": test.mean, "low": test.low, "high": test.high, "p": test.p}
        plain = {k: None if np.isnan(v) else round(v, 6) for k, v in values.items()}
        names = {"first": self.first, "second": self.second}
        return {**names, **plain, "holm_p": round(self.p, 6), "verdict": self.verdict}


def paired_methods(results: Results, name: str, order: list[str], metric: str) -> list[Pair]:
    """All pairs, the better method first."""
    frame = results.frame
    share = float(frame["n_test"].mean() / frame["n_train"].mean())
    sign = 1.0 if METRICS[metric][1] == "high" else -1.0
    tests = {}
    for first, second in combinations(order, 2):
        gap = sign * results.paired(name, (first, ""), (second, ""), metric)
        if len(gap):
            tests[first, second] = corrected_t_test(gap, share)
    adjusted = holm([1.0 if np.isnan(test.p) else test.p for test in tests.values()])
    pairs = [
        Pair(*key, test, float(p)) for (key, test), p in zip(tests.items(), adjusted, strict=True)
    ]
    return sorted(pairs, key=lambda pair: -pair.test.mean)


def answer(
    order: list[str],
    scores: dict[str, float],
    pairs: list[Pair],
    metric: str,
    races: dict[str, list[str]],
) -> list[str]:
    """Return the findings as sentences, the most important first.

    Parameters
    ----------
    order : list of str
        Methods, the best first.
    scores : dict of str to float
        Their means.
    pairs : list of Pair
    metric : str
    races : dict of str to list of str
        The geometry that each of our methods chose on each split.
    """
    best, label = order[0], METRICS[metric][0]
    text = f"On this table {_word(best)} scores best: {label} {scores[best]:.3f}"
    if len(order) == 1:
        return [f"{text}. There is nothing to compare it with."]
    by_names = {frozenset((p.first, p.second)): p for p in pairs}
    nearest = by_names.get(frozenset(order[:2]))
    if nearest is None:
        return [f"{text}. The others share no split with it."]
    if nearest.test.mean == 0:
        said = [
            f"On this table {_word(best)} and {_word(order[1])} score equally well: {label} "
            f"{scores[best]:.3f}."
        ]
    else:
        said = [
            f"{text}, {_size(nearest.test.mean)} better than {_word(order[1])}; the difference is "
            f"{nearest.verdict} (p = {nearest.p:.2g} after Holm's correction)."
        ]
    rivals = [by_names.get(frozenset((best, other))) for other in order[2:]]
    for verdict in ("within noise", "perhaps more than noise"):
        close = [_word(p.second) for p in rivals if p is not None and p.verdict == verdict]
        if close:
            said.append(f"The lead over {' and '.join(close)} is {verdict}.")
    rivals_of = {"JF": ["RF"], "JB": [method for method in order if method in _BOOSTERS]}
    for own, others in rivals_of.items():
        pair = by_names.get(frozenset((own, *others[:1])))
        if pair is not None:
            said.append(_against(own, pair))
        if races.get(own):
            said.append(_race(own, races[own], named=pair is None))
    if metric in ("kappa", "r2") and scores[best] < 0.01:
        said.append("No method is better than guessing, so their order means nothing.")
    return said


def advice(
    order: list[str],
    scores: dict[str, float],
    pairs: list[Pair],
    metric: str,
    seconds: dict[str, float],
) -> list[str]:
    """Return advice on what to do next, as sentences.

    Parameters
    ----------
    order, scores, pairs, metric
        As in `answer`.
    seconds : dict of str to float
        Seconds of one fit by method, including the parameter search.
    """
    best = order[0]
    if metric in ("kappa", "r2") and scores[best] < 0.01:
        return [
            "Do not choose a model yet: no method predicts this target better than guessing. Look "
            "for columns that carry more information about it."
        ]
    said = [f"Use {_word(best)} ({best})."]
    by_names = {frozenset((p.first, p.second)): p for p in pairs}
    close = [m for m in order[1:] if _is_close(by_names.get(frozenset((best, m))))]
    faster = [m for m in close if seconds.get(m, np.inf) < 0.8 * seconds.get(best, 0.0)]
    same = [m for m in close if by_names[frozenset((best, m))].test.mean == 0]
    if same:
        said.append(f"It scores the same as {_listed(same)}.")
    close = [m for m in close if m not in same]
    if close:
        said.append(
            f"The lead over {_listed(close)} is within noise: "
            f"{'it' if len(close) == 1 else 'each of them'} may be equally good on new rows."
        )
    if faster:
        quick = min(faster, key=lambda m: seconds[m])
        said.append(
            f"If the time of a fit matters, {_word(quick)} needs "
            f"{100 * seconds[quick] / seconds[best]:.0f} % of the time, tuning included."
        )
    return said


def _is_close(pair: Pair | None) -> bool:
    return pair is not None and pair.verdict == "within noise"


def _listed(methods: list[str]) -> str:
    words = [_word(method) for method in methods]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _word(method: str) -> str:
    return _WORDS.get(method, method)


def _size(gap: float) -> str:
    return f"{abs(gap):.3f}" if abs(gap) >= 0.0005 else "less than 0.001"


def _signed(value: float) -> str:
    text = f"{value:+.3f}"
    return text.lstrip("+-") if float(text) == 0 else text


def _against(own: str, pair: Pair) -> str:
    """Say how far one of our methods is ahead of its nearest relative."""
    test, wins = pair.test, pair.first == own
    sign = 1 if wins else -1
    ends = sorted((sign * test.low, sign * test.high))
    verb = "gains" if wins else "loses"
    rival = _word(pair.second if wins else pair.first)
    if test.mean == 0:
        return f"{_begin(_word(own))} scores the same as {rival}."
    return (
        f"{_begin(_word(own))} {verb} {_size(test.mean)} {'over' if wins else 'against'} {rival} "
        f"(95 % interval {_signed(ends[0])} to {_signed(ends[1])}): {pair.verdict}."
    )


def _race(own: str, winners: list[str], named: bool) -> str:
    """Say what the race chose; the method is named where the sentence before does not."""
    race = f"The race of {_word(own)}" if named else "Its race"
    plain = sum(winner in PLAIN_NAMES for winner in winners)
    if plain == len(winners):
        return f"{race} chose plain axes in every split: rotated cuts did not help."
    others = len(winners) - plain
    text = f"{race} chose rotated or weighted cuts in {others} of {len(winners)} splits"
    return text + (", plain axes in the others." if plain else ".")


def _begin(text: str) -> str:
    return text[:1].upper() + text[1:]
