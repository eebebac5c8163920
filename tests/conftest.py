"""Fixtures: every estimator in a small version, a synthetic table, and synthetic results."""

import dataclasses
import json
import os

import hypothesis
import numpy as np
import pytest

import jarf

# The same examples in every run of a file, however busy the machine is (they also depend on the
# modules that were loaded before), and no search for a smaller one, which takes up to five minutes.
# To look for new examples, and for the smallest that fails:
# pytest --hypothesis-profile=explore --hypothesis-seed=random
_UNTIMED = {"deadline": None, "suppress_health_check": [hypothesis.HealthCheck.too_slow]}
hypothesis.settings.register_profile(
    "repeatable",
    derandomize=True,
    phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate, hypothesis.Phase.target],
    **_UNTIMED,
)
hypothesis.settings.register_profile("explore", **_UNTIMED)
hypothesis.settings.load_profile("repeatable")

ESTIMATORS = sorted(name for name in jarf.__all__ if hasattr(getattr(jarf, name), "fit"))
_SMALL = {"n_estimators": 5, "max_iter": 5, "random_state": 0}


def pytest_runtest_setup(item):
    if os.name == "nt" and item.get_closest_marker("posix"):
        pytest.skip("needs the signals and processes of POSIX")


@pytest.fixture(autouse=True)
def the_same_random_numbers():
    """Models without a seed draw from NumPy's global generator."""
    np.random.seed(0)  # noqa: NPY002


class Kind:
    """One estimator of the library: a small version, and its predictions."""

    def __init__(self, name):
        self.name, self.type = name, getattr(jarf, name)
        self.regresses = name.endswith("Regressor")
        self.transforms = hasattr(self.type, "transform")
        self.known = set(self.type().get_params())

    def make(self, **parameters):
        """Return a small model; parameters that it does not have are ignored."""
        wanted = {**_SMALL, **self._members(), **parameters}
        return self.type(**{key: wanted[key] for key in self.known & wanted.keys()})

    def _members(self):
        """Small members of an ensemble; boosting by its name would take seconds per fit."""
        if "members" not in self.known:
            return {}
        kind = "Regressor" if self.regresses else "Classifier"
        models = {
            "forest": getattr(jarf, f"JacobianForest{kind}")(5, calibrate=False),
            "boosting": getattr(jarf, f"JacobianBoosting{kind}")(max_iter=5, calibrate=False),
        }
        return {"members": [*models.items(), "kernel"]}

    def answer(self, model, X):
        """Return all predictions for some rows."""
        if self.transforms:
            return model.transform(X)
        return model.predict(X) if self.regresses else model.predict_proba(X)


@pytest.fixture(scope="session")
def kinds():
    """All public estimators."""
    return [Kind(name) for name in ESTIMATORS]


@pytest.fixture(params=ESTIMATORS)
def kind(request):
    """Each public estimator in turn."""
    return Kind(request.param)


EVIL = "<script>alert(1)</script>"
DATA = {
    "iris": ("classification", 0.9),
    "adult": ("classification", 0.55),
    "covertype": ("classification", 0.6),
    "kin8nm": ("regression", 0.6),
    "protein": ("regression", 0.5),
    "halfspace-d10-a15": ("classification", 0.86),
    "halfspace-d10-a45": ("classification", 0.85),
    EVIL + "|data": ("classification", 0.7),
}
METHODS = {
    "RF": 0.0,
    "RotF": 0.01,
    "CCF": 0.02,
    "SPORF": 0.005,
    "XGB": 0.01,
    "PCA+RF": -0.03,
    "LDA+RF": -0.05,
    "JARF": 0.015,
    "JARF-XGB": 0.02,
    EVIL: -0.1,
}


def _row(rng, dataset, task, level, method, variant, repeat, fold):
    score = level + rng.normal(0, 0.004)
    metrics = (
        {"kappa": score, "accuracy": score + 0.05, "macro_f1": score, "ece": 0.1}
        if task == "classification"
        else {"r2": score, "rmse": 1 - score}
    )
    seconds = 1.0 + len(method) / 10
    times = {"total": seconds, "cpu": seconds, "fit": seconds, "predict": 0.1}
    extra = {}
    if method == "JARF":
        times |= {"surrogate": 0.4, "gradients": 0.1, "fit": seconds - 0.5}
        extra["surrogate"] = {name: value - 0.02 for name, value in metrics.items()}
        if variant in ("surrogate: XGBoost", "surrogate: MLP"):
            extra["alignment_to_forest"] = {"eigenvectors": 0.4, "subspace": 0.7}
    if method in ("RotF", "CCF", "SPORF"):
        curve = np.linspace(0.3, 1, 6)
        extra["alignment"] = {
            "median": curve.tolist(),
            "q25": (curve - 0.1).tolist(),
            "q75": curve.tolist(),
            "random": np.linspace(0.1, 1, 6).tolist(),
            "n_normals": 10,
        }
    return {
        "dataset": dataset,
        "method": method,
        "variant": variant,
        "repeat": repeat,
        "fold": fold,
        "cap": 5000,
        "seed": 0,
        "status": "ok",
        "error": "",
        "task": task,
        "n_train": 4000,
        "n_test": 4000,
        "d": 6,
        "d_numeric": 6,
        "n_classes": 2,
        "partial": dataset == "covertype",
        "source": "made",
        "n_trees": 200,
        "metrics": metrics,
        "times": times,
        "extra": extra,
        "seconds": seconds,
        "versions": {"jarf": "0"},
        "when": "2026-01-01T00:00:00Z",
        "params": {},
    }


def _rows():
    from jarf.bench import get_method

    rng = np.random.default_rng(0)
    for dataset, (task, level) in DATA.items():
        for method, gain in METHODS.items():
            variants = [""]
            if method == "JARF" and not dataset.startswith("halfspace"):
                variants += list(get_method("JARF").variants)
            for variant in variants:
                for repeat in range(2 if not variant else 1):
                    for fold in (0, 1):
                        shift = gain - 0.003 * len(variant) / 10
                        yield _row(rng, dataset, task, level + shift, method, variant, repeat, fold)
    broken = _row(rng, "iris", "classification", 0.5, "broken", "", 0, 0)
    broken.update(status="error", error=f"ValueError: {EVIL}")
    broken.pop("metrics")
    yield broken


@pytest.fixture(scope="session")
def results_folder(tmp_path_factory):
    """A results folder with rows for every experiment, and with names that contain markup."""
    from jarf.bench import BUDGETS, ResultRow
    from jarf.bench._rows import row_line

    folder = tmp_path_factory.mktemp("results")
    (folder / "rows.jsonl").write_text(
        "".join(row_line(ResultRow.from_dict(row)) for row in _rows())
    )
    budget = dataclasses.replace(BUDGETS["standard"], repeats=2, ablation_repeats=1)
    (folder / "run.json").write_text(json.dumps({**budget.as_dict(), "seed": 0}))
    (folder / "environment.json").write_text(json.dumps([{"machine": "made up"}]))
    return folder


@pytest.fixture(scope="session")
def report_page(results_folder, tmp_path_factory):
    """The page built from the synthetic results."""
    from jarf.report import build_report

    return build_report(results_folder, tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="session")
def mixed_table():
    """``make(n, seed) -> (frame, response)``: numbers, categories, flags and missing values."""
    pd = pytest.importorskip("pandas")

    def make(n, seed):
        rng = np.random.default_rng(seed)
        income, debt = rng.normal(size=(2, n))
        frame = pd.DataFrame(
            {
                "income": income,
                "debt": 100 * debt,
                "savings": 0.8 * income + 0.2 * rng.normal(size=n),
                "colour": rng.choice(["red", "green", "blue"], n),
                "city": rng.choice([f"c{k}" for k in range(60)], n),
                "member": (rng.random(n) < 0.4).astype(object),
                "floor": pd.Categorical(rng.integers(0, 4, n)),
            }
        )
        y = income + debt + 2 * (frame["colour"] == "red") + rng.normal(size=n) / 10
        for name in ("income", "savings", "colour", "member"):
            frame.loc[rng.random(n) < 0.15, name] = None
        return frame, y.to_numpy()

    return make


@pytest.fixture(scope="session")
def evil_table():
    """A small table with every kind of column, whose names contain markup."""
    import pandas as pd

    rng = np.random.default_rng(0)
    n = 150
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=[EVIL, "a|b", "$x_{"])
    X["gaps"] = np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n))
    X["day"] = pd.date_range("2020-01-01", periods=n)
    X["row id"] = np.arange(n)
    X["kind"] = rng.choice(["u", "<b>v</b>", "w"], n)
    label = np.where(X[EVIL] + X["a|b"] + 0.3 * rng.normal(size=n) > 0, "<i>yes</i>", "no")
    return X.assign(**{"the|target": label})


@pytest.fixture(scope="session")
def comparison(evil_table):
    """A very small comparison on it."""
    from jarf.bench import compare

    return compare(
        evil_table,
        "the|target",
        methods=["RF", "XGB", "JARF", "JF"],
        cv=2,
        repeats=2,
        n_trees=5,
        learning_curve=True,
        label=f"{EVIL}.csv",
    )
