"""The datasets of the study: the paper's twenty, those inside scikit-learn, the simulation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from jarf.bench._datasets import Dataset, Table
from jarf.datasets import halfspace_bayes_kappa, halfspace_margin, make_rotated_halfspace

CLASSIFICATION = (
    "adult",
    "bank-marketing",
    "covertype",
    "phoneme",
    "electricity",
    "satimage",
    "spambase",
    "magic",
    "letter",
    "vehicle",
    "higgs",
    "madelon",
    "bioresponse",
    "jannis",
    "mnist-784",
)
REGRESSION = ("bike-sharing", "california-housing", "energy-efficiency", "kin8nm", "protein")
EMBEDDED = ("iris", "wine", "breast-cancer", "digits", "diabetes")
ANGLES = (15, 30, 45, 60)
DIMENSIONS = (10, 50, 100)
SIMULATED = tuple(f"halfspace-d{d}-a{a}" for d in DIMENSIONS for a in ANGLES)

_UCI = "CC BY 4.0 at UCI"
_NONE = "none stated"
_LETTER = (
    "789 766 736 805 768 775 773 734 755 747 739 761 792 783 753 803 783 758 748 796 813 764 752 "
    "787 786 734"
)
# name, rows, columns, counts of the classes ("" in regression), OpenML id, licence, note
_PAPER: tuple[tuple[str, int, int, str, int | None, str, str], ...] = (
    ("adult", 48842, 14, "37155 11687", 1590, _UCI, ""),
    (
        *("bank-marketing", 41188, 20, "36548 4640", None, _UCI),
        "the 'additional-full' file; `duration` is known only after the call",
    ),
    ("covertype", 581012, 54, "211840 283301 35754 2747 9493 17367 20510", 1596, _UCI, ""),
    ("phoneme", 5404, 5, "3818 1586", 1489, _NONE, ""),
    ("electricity", 45312, 8, "26075 19237", 151, _NONE, ""),
    (
        *("satimage", 6435, 36, "703 626 1358 1533 707 1508", 182, _UCI),
        "the OpenML copy lacks 5 rows",
    ),
    ("spambase", 4601, 57, "2788 1813", 44, _UCI, ""),
    ("magic", 19020, 10, "12332 6688", 1120, _UCI, ""),
    ("letter", 20000, 16, _LETTER, 6, _UCI, ""),
    ("vehicle", 846, 18, "218 212 217 199", 54, _NONE, ""),
    (
        *("higgs", 98050, 28, "46223 51827", 23512, _UCI),
        "the paper prints 940160 x 124, a shape no known copy has",
    ),
    ("madelon", 2600, 500, "1300 1300", 1485, _UCI, ""),
    ("bioresponse", 3751, 1776, "1717 2034", 4134, "Kaggle competition data", ""),
    (
        *("jannis", 83733, 54, "1687 28790 14734 38522", 41168, _NONE),
        "four classes; the paper prints 57580 x 254",
    ),
    (
        *("mnist-784", 70000, 784, "6903 7877 6990 7141 6824 6313 6876 7293 6825 6958", 554),
        *(_NONE, ""),
    ),
    ("bike-sharing", 17379, 12, "", 42712, _UCI, "without casual and registered"),
    ("california-housing", 20640, 8, "", 44025, _NONE, ""),
    ("energy-efficiency", 768, 8, "", 44960, _UCI, "target: heating load"),
    ("kin8nm", 8192, 8, "", 44980, _NONE, ""),
    ("protein", 45730, 9, "", 44963, _UCI, ""),
)


def _embedded(loader: str) -> Callable[[], Table]:
    def load() -> Table:
        import sklearn.datasets

        bunch: Any = getattr(sklearn.datasets, loader)(as_frame=True)
        return Table(bunch.data, np.asarray(bunch.target), f"sklearn.datasets.{loader}")

    return load


def _halfspace(d: int, angle: float) -> Callable[[int, int, int], tuple[Table, Table]]:
    def draw(seed: int, n_train: int, n_test: int) -> tuple[Table, Table]:
        import pandas as pd

        X, y = make_rotated_halfspace(n_train + n_test, d, angle, noise=0.2, random_state=seed)
        frame = pd.DataFrame(X, columns=[f"x{j + 1}" for j in range(d)])
        source = "jarf.datasets.make_rotated_halfspace"
        train, test = frame.iloc[:n_train], frame.iloc[n_train:].reset_index(drop=True)
        return Table(train, y[:n_train], source), Table(test, y[n_train:], source)

    return draw


def _boundary(angle: float) -> Callable[[Any], np.ndarray]:
    return lambda X: (halfspace_margin(X.to_numpy(), angle) >= 0).astype(int)


def study_datasets() -> Iterator[Dataset]:
    """The entries of the registry."""
    for name, rows, columns, counts, openml_id, licence, note in _PAPER:
        sizes = {str(i): int(count) for i, count in enumerate(counts.split())}
        yield Dataset(
            name,
            "classification" if counts else "regression",
            n_rows=rows,
            n_features=columns,
            class_counts=sizes or None,
            openml_id=openml_id,
            licence=licence,
            note=note,
        )
    shapes = {
        "iris": (150, 4),
        "wine": (178, 13),
        "breast-cancer": (569, 30),
        "digits": (1797, 64),
        "diabetes": (442, 10),
    }
    for name, (rows, columns) in shapes.items():
        yield Dataset(
            name,
            "regression" if name == "diabetes" else "classification",
            n_rows=rows,
            n_features=columns,
            licence="ships with scikit-learn",
            load=_embedded("load_" + name.replace("-", "_")),
        )
    for d in DIMENSIONS:
        for angle in ANGLES:
            yield Dataset(
                f"halfspace-d{d}-a{angle}",
                "classification",
                n_features=d,
                licence="simulated",
                note=f"rotated halfspace, {d} columns, {angle} degrees, noise 0.2",
                draw=_halfspace(d, angle),
                truth=_boundary(angle),
                facts={"d": d, "angle": angle, "bayes": halfspace_bayes_kappa(0.2)},
            )
