"""Jacobian boosting with plain axes against scikit-learn's histogram gradient boosting."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import log_loss, mean_pinball_loss

from jarf import JacobianBoostingClassifier, JacobianBoostingRegressor

EQUAL = {
    "learning_rate": 0.1,
    "max_iter": 40,
    "max_leaf_nodes": 8,
    "max_depth": None,
    "min_samples_leaf": 20,
    "l2_regularization": 1.0,
    "early_stopping": False,
}


def table(seed):
    """Few distinct values, so that bins are the same; training rows and others."""
    drawn = np.random.default_rng(seed)
    rows = drawn.normal(size=(1500, 5)).round(1)
    score = rows[:, 0] + rows[:, 1] * rows[:, 2] + 0.3 * drawn.normal(size=1500)
    return rows, score, slice(0, 1000), slice(1000, None)


def answers(model, rows):
    return model.predict_proba(rows) if hasattr(model, "classes_") else model.predict(rows)


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "poisson", "gamma", "log"])
def test_axes_alone_agree_with_scikit_learn(loss):
    """As its own test against LightGBM: rows differ where two splits tie."""
    rows, score, train, test = table(0)
    plain = {"geometry": "axes", "subsample": 1.0, "random_state": 0}
    if loss == "log":
        y = score > 0
        ours = JacobianBoostingClassifier(**plain, **EQUAL).fit(rows[train], y[train])
        theirs = HistGradientBoostingClassifier(**EQUAL).fit(rows[train], y[train])
        found, known = (model.predict_proba(rows[test])[:, 1] for model in (ours, theirs))
    else:
        y = np.exp(score / 2) if loss in ("poisson", "gamma") else score
        ours = JacobianBoostingRegressor(loss, **plain, **EQUAL).fit(rows[train], y[train])
        theirs = HistGradientBoostingRegressor(loss=loss, **EQUAL).fit(rows[train], y[train])
        found, known = (model.predict(rows[test]) for model in (ours, theirs))
    assert np.isclose(found, known, rtol=1e-3, atol=1e-3).mean() > 0.95
    assert np.corrcoef(found, known)[0, 1] > 0.999


@pytest.mark.parametrize("task", ["three classes", "quantile"])
def test_axes_alone_score_as_scikit_learn_scores(task):
    """Trees of all classes at once, and another definition of a quantile: scores must agree."""
    rows, score, train, test = table(1)
    plain = {"geometry": "axes", "subsample": 1.0, "random_state": 0, **EQUAL}
    if task == "quantile":
        own = {"loss": "quantile", "quantile": 0.8}
        y, measure = score, lambda y, found: mean_pinball_loss(y, found, alpha=0.8)
        models = (
            JacobianBoostingRegressor(**own, **plain),
            HistGradientBoostingRegressor(**own, **EQUAL),
        )
    else:
        y, measure = np.digitize(score, [-0.7, 0.7]), log_loss
        models = JacobianBoostingClassifier(**plain), HistGradientBoostingClassifier(**EQUAL)
    losses = [
        measure(y[test], answers(model.fit(rows[train], y[train]), rows[test])) for model in models
    ]
    assert losses[0] < 1.05 * losses[1]
