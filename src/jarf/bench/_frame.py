"""Stored results as one flat, typed frame."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from jarf.bench._rows import WHEN, ResultRow

__all__ = ["METRIC_NAMES", "STAGES", "flat_frame"]

METRIC_NAMES = (
    *("kappa", "accuracy", "macro_f1", "roc_auc", "average_precision", "brier", "log_loss", "ece"),
    *("log_loss_before", "ece_before", "r2", "rmse", "coverage", "width"),
)
STAGES = ("total", "cpu", "predict", "surrogate", "gradients", "fit")
_TEXTS = ("dataset", "method", "variant", "status", "error", "task", "source")
_KEYS = ("repeat", "fold", "cap", "seed")
_COUNTS = ("n_train", "n_test", "d", "d_numeric", "n_classes", "n_rows", "n_trees")
_ORDER = (
    *("dataset", "method", "variant", *_KEYS, "status", "error", "task", *_COUNTS, "partial"),
    *("source", *METRIC_NAMES, *(f"time_{stage}" for stage in STAGES)),
    *("seconds", "version", "when"),
)


def flat_frame(rows: Iterable[ResultRow]) -> Any:
    """Return one line per fit, with a column for every metric and every stage.

    Parameters
    ----------
    rows : iterable of ResultRow

    Returns
    -------
    DataFrame
        Texts; ``repeat``, ``fold``, ``cap``, ``seed`` (int64); sizes (Int64, missing where a fit
        failed); ``partial`` (boolean); metrics and ``time_...`` in seconds (float64, missing where
        they were not measured); ``seconds`` of the whole job, ``version`` of jarf and ``when``
        (UTC). These columns are always present, in the same order. The columns ``surrogate_...``
        and ``extra_...`` follow, with single numbers and words that methods reported.
    """
    import pandas as pd

    frame = pd.DataFrame([_flat(row) for row in rows])
    frame = frame.reindex(columns=[*_ORDER, *(n for n in frame.columns if n not in _ORDER)])
    kinds: dict[str, Any] = {
        **dict.fromkeys(_TEXTS, object),
        **dict.fromkeys(_KEYS, "int64"),
        **dict.fromkeys(_COUNTS, "Int64"),
        "partial": "boolean",
        **dict.fromkeys(METRIC_NAMES, float),
        **{name: float for name in frame.columns if name.startswith(("time_", "surrogate_"))},
    }
    frame["when"] = pd.to_datetime(frame["when"], format=WHEN, utc=True, errors="coerce")
    return frame.astype(kinds)


def _flat(row: ResultRow) -> dict[str, Any]:
    plain = {name: getattr(row, name) for name in (*_TEXTS, *_KEYS, *_COUNTS, "partial")}
    times = {f"time_{name}": value for name, value in row.times.items()}
    inner = row.extra.get("surrogate", {})
    surrogate = {f"surrogate_{name}": value for name, value in inner.items()}
    extra = {
        f"extra_{name}": value
        for name, value in row.extra.items()
        if isinstance(value, str | int | float)
    }
    last = {"seconds": row.seconds, "version": row.versions.get("jarf", ""), "when": row.when}
    return {**plain, **row.metrics, **times, **surrogate, **extra, **last}
