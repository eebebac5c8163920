"""Small fitted tree ensembles of every kind that can be read."""

import warnings
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from sklearn import ensemble as sk
from sklearn.tree import DecisionTreeClassifier, ExtraTreeRegressor

import jarf.ensemble as own

RNG = np.random.default_rng(0)
# Few values, so that rows lie on thresholds.
X = RNG.normal(size=(240, 5)).round(1).astype(np.float32)
SCORE = (X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * RNG.normal(size=240)).astype(np.float64)
TARGETS = {
    "two": np.where(SCORE > 0.2, "up", "down"),
    "three": np.digitize(SCORE, [-0.7, 0.7]),
    "number": SCORE + 10,
    "count": np.floor(np.exp(SCORE)) + 1,
    "vector": np.column_stack([SCORE, SCORE**2, X[:, 3]]).astype(np.float64),
    "constant": np.full(240, 3.0),
}
SEED = {"random_state": 0}
FEW = {"n_estimators": 6, **SEED}
ROUNDS = {"max_iter": 6, **SEED}
BOOSTED = {"geometry": "mixed", "early_stopping": False, **ROUNDS}
OWN = ("AxisForest", "SPORF", "CanonicalCorrelationForest", "RotationForest")

SKLEARN = {
    "tree": (DecisionTreeClassifier(max_leaf_nodes=9, **SEED), "three"),
    "random tree": (ExtraTreeRegressor(**SEED), "number"),
    "forest, two classes": (sk.RandomForestClassifier(**FEW), "two"),
    "forest, three classes": (sk.RandomForestClassifier(**FEW), "three"),
    "forest, regression": (sk.RandomForestRegressor(max_depth=4, **FEW), "number"),
    "forest, several outputs": (sk.RandomForestRegressor(max_depth=5, **FEW), "vector"),
    "forest, constant": (sk.RandomForestRegressor(**FEW), "constant"),
    "extra trees": (sk.ExtraTreesClassifier(**FEW), "three"),
    "extra trees, regression": (sk.ExtraTreesRegressor(**FEW), "number"),
    "boosting, two classes": (sk.GradientBoostingClassifier(**FEW), "two"),
    "boosting, exponential": (sk.GradientBoostingClassifier(loss="exponential", **FEW), "two"),
    "boosting, three classes": (sk.GradientBoostingClassifier(**FEW), "three"),
    "boosting, from zero": (sk.GradientBoostingClassifier(init="zero", **FEW), "three"),
    "boosting, regression": (sk.GradientBoostingRegressor(**FEW), "number"),
    "boosting, quantile": (sk.GradientBoostingRegressor(loss="quantile", **FEW), "number"),
    "boosting, number from zero": (sk.GradientBoostingRegressor(init="zero", **FEW), "number"),
    "histograms, two classes": (sk.HistGradientBoostingClassifier(**ROUNDS), "two"),
    "histograms, three classes": (sk.HistGradientBoostingClassifier(**ROUNDS), "three"),
    "histograms, regression": (sk.HistGradientBoostingRegressor(**ROUNDS), "number"),
    "histograms, poisson": (sk.HistGradientBoostingRegressor(loss="poisson", **ROUNDS), "count"),
    "histograms, gamma": (sk.HistGradientBoostingRegressor(loss="gamma", **ROUNDS), "count"),
    "histograms, constant": (sk.HistGradientBoostingRegressor(**ROUNDS), "constant"),
}
SKLEARN |= {
    f"{name}, {kind}": (getattr(own, name + kind)(**FEW), target)
    for name in OWN
    for kind, target in (("Classifier", "three"), ("Regressor", "number"))
}
SKLEARN |= {
    "JacobianForest, Classifier": (
        own.JacobianForestClassifier(geometry="fast", calibrate=False, **FEW),
        "three",
    ),
    "JacobianForest, Regressor": (own.JacobianForestRegressor(geometry="fast", **FEW), "number"),
    "JacobianBoosting, two": (own.JacobianBoostingClassifier(**BOOSTED), "two"),
    "JacobianBoosting, three": (own.JacobianBoostingClassifier(**BOOSTED), "three"),
    "JacobianBoosting, number": (own.JacobianBoostingRegressor(**BOOSTED), "number"),
    "JacobianBoosting, poisson": (own.JacobianBoostingRegressor("poisson", **BOOSTED), "count"),
    "JacobianBoosting, several outputs": (own.JacobianBoostingRegressor(**BOOSTED), "vector"),
    "SPORF, several outputs": (own.SPORFRegressor(**FEW), "vector"),
}
SHALLOW = {"n_estimators": 6, "max_depth": 3, "n_jobs": 1}
XGBOOST = {
    "two classes": ("XGBClassifier", SHALLOW, "two"),
    "three classes": ("XGBClassifier", SHALLOW, "three"),
    "base score": ("XGBClassifier", {"base_score": 0.3, **SHALLOW}, "two"),
    "squares": ("XGBRegressor", SHALLOW, "number"),
    "poisson": ("XGBRegressor", {"objective": "count:poisson", **SHALLOW}, "count"),
    "gamma": ("XGBRegressor", {"objective": "reg:gamma", **SHALLOW}, "count"),
    "several outputs": ("XGBRegressor", SHALLOW, "vector"),
    "forest": ("XGBRFClassifier", SHALLOW, "three"),
    "constant": ("XGBRegressor", SHALLOW, "constant"),
    "single leaves": ("XGBClassifier", {"gamma": 1e6, **SHALLOW}, "two"),
}
SMALL = {"n_estimators": 6, "num_leaves": 7, "verbose": -1, "n_jobs": 1}
LIGHTGBM = {
    "two classes": ("LGBMClassifier", SMALL, "two"),
    "three classes": ("LGBMClassifier", SMALL, "three"),
    "squares": ("LGBMRegressor", SMALL, "number"),
    "poisson": ("LGBMRegressor", {"objective": "poisson", **SMALL}, "count"),
    "dart": ("LGBMRegressor", {"boosting_type": "dart", "drop_rate": 0.9, **SMALL}, "number"),
    "constant": ("LGBMRegressor", SMALL, "constant"),
}
NAMES = [
    *(("sklearn", name) for name in SKLEARN),
    *(("xgboost", name) for name in XGBOOST),
    *(("lightgbm", name) for name in LIGHTGBM),
]


class Ensemble(NamedTuple):
    """A fitted model, its data, and the precision of its own sums."""

    model: object
    X: np.ndarray
    y: np.ndarray
    rtol: float

    @property
    def classifies(self):
        return hasattr(self.model, "predict_proba")

    def outputs(self, rows):
        """The model's own predictions as a matrix."""
        predict = self.model.predict_proba if self.classifies else self.model.predict
        return np.asarray(predict(rows), np.float64).reshape(len(rows), -1)


@cache
def fitted(library, name):
    """Fit a model of the catalogue once."""
    if library == "sklearn":
        model, target = SKLEARN[name]
    else:
        kind, settings, target = (XGBOOST if library == "xgboost" else LIGHTGBM)[name]
        with warnings.catch_warnings():  # XGBoost 3.4 deprecates its random forests
            warnings.filterwarnings("ignore", ".*XGBRF.* is deprecated", FutureWarning)
            model = getattr(pytest.importorskip(library), kind)(**settings)
    y = TARGETS[target]
    if library == "xgboost" and target == "two":
        y = (y == "up").astype(int)
    return Ensemble(model.fit(X, y), X, y, 2e-5 if library == "xgboost" else 1e-12)


@pytest.fixture(params=NAMES, ids=lambda pair: ": ".join(pair))
def ensemble(request):
    """Each kind of ensemble in turn."""
    return fitted(*request.param)


@pytest.fixture(params=["native", "reference"])
def both_engines(request, monkeypatch):
    """Run a test on the compiled kernels and on the reference."""
    monkeypatch.setenv("JARF_NO_NATIVE", "0" if request.param == "native" else "1")
    return request.param
