"""adult and bank-marketing as they are, from the folder JARF_DATA; without it, tables like them."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import cohen_kappa_score
from sklearn.model_selection import train_test_split

from jarf import (
    AxisForestClassifier,
    CanonicalCorrelationForestClassifier,
    JacobianForestClassifier,
    JARFClassifier,
    RotationForestClassifier,
    SPORFClassifier,
)

N_ROWS = 2000


def like(seed):
    """Ages, hours and money of any size, trades that shift the threshold, holes and an outcome."""
    rng = np.random.default_rng(seed)
    age, hours = rng.normal(40, 12, N_ROWS), rng.normal(40, 10, N_ROWS)
    trade = rng.integers(0, 12, N_ROWS)
    married = rng.random(N_ROWS) < 0.5
    signal = (age - 40) / 12 + (hours - 40) / 10 + np.sin(2.0 * trade) + 2 * married - 2.5
    frame = pd.DataFrame(
        {
            "age": age.round(),
            "trade": pd.Categorical([f"trade {t}" for t in trade]),
            "hours": np.where(rng.random(N_ROWS) < 0.05, np.nan, hours),
            "gain": np.where(rng.random(N_ROWS) < 0.9, 0.0, rng.lognormal(8, 1, N_ROWS)),
            "marital": pd.Categorical(np.where(married, "married", "single")).astype(object),
        }
    )
    frame.loc[rng.random(N_ROWS) < 0.05, "trade"] = None
    return frame, np.where(signal + rng.normal(size=N_ROWS) > 0, ">50K", "<=50K")


def load(name):
    folder = os.environ.get("JARF_DATA")
    if not folder:
        return like(len(name))
    frame = pd.read_parquet(Path(folder) / f"{name}.parquet").sample(N_ROWS, random_state=0)
    target = frame.pop("target").astype(str).to_numpy()
    return frame, target


@pytest.mark.parametrize("name", ["adult", "bank-marketing"])
@pytest.mark.parametrize(
    "cls",
    [
        AxisForestClassifier,
        JacobianForestClassifier,
        CanonicalCorrelationForestClassifier,
        JARFClassifier,
        RotationForestClassifier,
        SPORFClassifier,
    ],
)
def test_the_raw_frame_is_as_good_as_one_hot_by_hand(cls, name):
    frame, y = load(name)
    by_hand = pd.get_dummies(frame).astype(float)
    by_hand = by_hand.fillna(by_hand.median())
    kappas = np.zeros((3, 2))
    for seed in range(3):
        train, test = train_test_split(np.arange(N_ROWS), random_state=seed, stratify=y)
        for kind, X in enumerate((frame, by_hand)):
            model = cls(n_estimators=30, random_state=seed).fit(X.iloc[train], y[train])
            kappas[seed, kind] = cohen_kappa_score(y[test], model.predict(X.iloc[test]))
    raw, one_hot = kappas.mean(axis=0)
    assert raw > 0.3
    # 1,500 test rows: a standard error of the difference is about 0.02.
    assert raw > one_hot - 0.07
    assert model.feature_importances_.shape == (by_hand.shape[1],)
    assert model.fit(frame, y).feature_importances_.shape == (frame.shape[1],)
