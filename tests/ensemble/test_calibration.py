"""Noise labels: whatever the weights and copies of rows, plain axes rarely lose the race."""

import numpy as np
import pandas as pd
import pytest

from jarf import JacobianFeatures, JacobianForestClassifier

N_SEEDS = 20
SHARE = 0.1


def noise_table(seed, kind):
    """Rows, labels that do not depend on them, and weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 4))
    y = (rng.random(120) < (0.1 if kind == "imbalanced" else 0.5)).astype(int)
    y[:8] = [0, 1] * 4
    if kind == "twice":
        return np.repeat(X, 2, axis=0), np.repeat(y, 2), None
    if kind == "text, four times":  # more levels than are encoded one by one
        frame = pd.DataFrame(X[:, :3], columns=list("abc"))
        frame["text"] = [f"level {k}" for k in rng.integers(0, 80, 120)]
        return pd.concat([frame] * 4, ignore_index=True), np.tile(y, 4), None
    sigma = {"sigma 1": 1.0, "sigma 2": 2.0}.get(kind)
    return X, y, None if sigma is None else np.exp(sigma * rng.normal(size=120))


KINDS = ["plain", "sigma 1", "sigma 2", "twice", "imbalanced", "text, four times"]


@pytest.mark.parametrize("kind", KINDS)
def test_plain_axes_rarely_lose_on_noise(kind):
    class_weight = "balanced" if kind == "imbalanced" else None
    lost = []
    for seed in range(50 if kind == "plain" else N_SEEDS):
        model = JacobianForestClassifier(
            1, calibrate=False, random_state=seed, n_jobs=1, class_weight=class_weight
        )
        X, y, weights = noise_table(seed, kind)
        lost.append(model.fit(X, y, weights).race_.winner != "axes")
    assert np.mean(lost) <= SHARE


def test_features_are_rarely_switched_on_by_duplicated_noise():
    on = []
    for seed in range(N_SEEDS):
        X, y, _ = noise_table(seed, "twice")
        on.append(JacobianFeatures(random_state=seed, n_jobs=1).fit(X, y).switched_on_)
    assert np.mean(on) <= SHARE
