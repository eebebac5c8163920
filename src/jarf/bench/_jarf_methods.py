"""JARF as a method of the benchmark: the paper's version, its boosted form and all variants."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline

from jarf.bench._baselines import XGB_GRID, engine_forest, forest, jarf_recipe, xgboost
from jarf.bench._mechanism import eigenvector_alignment, numeric_eigenvectors
from jarf.bench._methods import Fit, Method, Setting
from jarf.bench._metrics import classification_metrics, regression_metrics
from jarf.bench._recipes import Recipe
from jarf.table import read_table

__all__ = ["METHODS", "preconditioner_of"]


def preconditioner_of(model: Any) -> Any:
    """Return the fitted JacobianPreconditioner inside a fitted model of this file, or None."""
    found = getattr(model, "preconditioner_", None)
    return found if hasattr(found, "ejop_") else None


def _surrogate(setting: Setting, kind: str) -> Any:
    """Return the model to differentiate. None means the library's default, the paper's forest."""
    deep = forest(setting, n_estimators=100, max_features="sqrt")
    mlp = MLPClassifier if setting.classification else MLPRegressor
    return {
        "default": lambda: None,
        "shallow": lambda: forest(setting, n_estimators=50, max_depth=5, max_features="sqrt"),
        "deep": lambda: deep,
        "deep + Platt": lambda: CalibratedClassifierCV(deep, method="sigmoid", cv=3),
        "deep + isotonic": lambda: CalibratedClassifierCV(deep, method="isotonic", cv=3),
        "deep + extra trees": lambda: deep.set_params(n_estimators=200),
        "xgboost": lambda: xgboost(setting, n_estimators=50),
        "mlp": lambda: mlp(
            hidden_layer_sizes=(64, 64),
            early_stopping=setting.n_train >= 2000,
            max_iter=300,
            random_state=setting.random_state,
        ),
    }[kind]()


# Not read as trees: every probe takes 2 d predictions.
_SLOW = ("deep + Platt", "deep + isotonic", "mlp")


def _preconditioner(setting: Setting, surrogate: str = "default", **options: Any) -> Any:
    from jarf import JacobianPreconditioner

    if surrogate in _SLOW:
        options.setdefault("n_probes", setting.slow_probes)
    options.setdefault("step_rule", "mad")  # the paper's
    return JacobianPreconditioner(
        surrogate=_surrogate(setting, surrogate),
        n_jobs=setting.n_jobs,
        random_state=setting.random_state,
        **options,
    )


def _jarf(setting: Setting, final: str = "forest", **options: Any) -> Any:
    """The library's estimator around the study's forest or booster."""
    import jarf

    tuned = {name: options.pop(name) for name in XGB_GRID.keys() & options.keys()}
    last = forest(setting) if final == "forest" else xgboost(setting, **tuned)
    share = options.pop("share", "global")
    kind = jarf.JARFClassifier if setting.classification else jarf.JARFRegressor
    return kind(
        estimator=last,
        preconditioner=_preconditioner(setting, **options).set_params(random_state=None),
        share=share,
        n_jobs=setting.n_jobs,
        random_state=setting.random_state,
    )


def _inspect(fit: Fit) -> dict[str, Any]:
    """Return the surrogate's test quality, and the distance of its EJOP to the default's."""
    inner = preconditioner_of(fit.model)
    if inner is None:
        return {}
    split = fit.split
    encoded = read_table(inner, split.X_test, dtype=np.float64, order="C")
    seen = (encoded - inner.mean_) / inner.scale_  # the surrogate's own coordinates
    if fit.setting.classification:
        proba = inner.surrogate_.predict_proba(seen)
        scores = classification_metrics(split.y_test, proba.argmax(axis=1), proba)
    else:
        scores = regression_metrics(split.y_test, inner.surrogate_.predict(seen))
    found: dict[str, Any] = {"surrogate": {k: round(v, 6) for k, v in scores.items()}}
    total = float(np.trace(inner.ejop_.matrix)) or 1.0
    found["spectrum"] = np.round(inner.eigenvalues_[:10] / total, 5).tolist()
    if not isinstance(inner.surrogate_, type(forest(fit.setting))):
        default = _preconditioner(fit.setting).fit(split.X_train, split.y_train)
        numeric = np.flatnonzero(fit.setting.numeric)
        each, span = eigenvector_alignment(
            numeric_eigenvectors(default, numeric), numeric_eigenvectors(inner, numeric)
        )
        found["alignment_to_forest"] = {"eigenvectors": round(each, 5), "subspace": round(span, 5)}
    return found


VARIANTS: dict[str, dict[str, Any]] = {
    "forward differences": {"scheme": "forward"},
    "no clipping": {"boundary": "none"},
    "global step": {"step_rule": "global"},
    "alpha = 0.05": {"step": 0.05},
    "alpha = 0.2": {"step": 0.2},
    "m = 0.1 n": {"n_probes": 0.1},
    "m = 0.5 n": {"n_probes": 0.5},
    "categorical toggles": {"categorical": "toggle"},
    "no gamma": {"gamma": 0.0},
    "no normalisation": {"normalize": False},
    "surrogate: XGBoost": {"surrogate": "xgboost"},
    "surrogate: MLP": {"surrogate": "mlp"},
    "surrogate: shallow": {"surrogate": "shallow"},
    "surrogate: deep": {"surrogate": "deep"},
    "surrogate: deep + Platt": {"surrogate": "deep + Platt"},
    "surrogate: deep + isotonic": {"surrogate": "deep + isotonic"},
    "surrogate: deep + extra trees": {"surrogate": "deep + extra trees"},
    "per-tree H": {"share": "per-tree"},
    "m = 1000": {"n_probes": 1000},
    "m = 2500": {"n_probes": 2500},
    "m = 5000": {"n_probes": 5000},
    "m = n": {"n_probes": 10**9},
    "top 2 eigenvectors": {"n_components": 2},
}


def _with_directions(setting: Setting, **params: Any) -> Any:
    """Return XGBoost with JacobianFeatures in front, which decides whether to append directions."""
    from jarf import JacobianFeatures

    judge = xgboost(setting, **{**params, "n_estimators": 50})
    features = JacobianFeatures(
        switch=judge, n_jobs=setting.n_jobs, random_state=setting.random_state
    )
    return make_pipeline(features, xgboost(setting, **params))


def _own_defaults(stem: str) -> Any:
    """A factory of one of the library's estimators at its own defaults, seed and threads aside."""

    def factory(setting: Setting, **params: Any) -> Any:
        import jarf

        model = getattr(jarf, stem + ("Classifier" if setting.classification else "Regressor"))()
        filled = {"random_state": setting.random_state, "n_jobs": setting.n_jobs, **params}
        known = model.get_params(deep=False)
        return model.set_params(**{k: v for k, v in filled.items() if k in known})

    return factory


def _boosters() -> tuple[Method, ...]:
    """Jacobian boosting and the ensemble of it and the forest, where the library has them."""
    import jarf

    kinds = (
        (
            *("JB", "JacobianBoosting"),
            "our Jacobian boosting: small trees added one after the other, each correcting those "
            "before it; they may cut along combinations of columns if that helps on held-out "
            "training rows, which also decide the number of rounds; untuned",
        ),
        (
            *("JE", "JacobianEnsemble"),
            "our Jacobian ensemble: the forest, the booster and other members, weighted on "
            "held-out training rows; at its defaults",
        ),
    )
    return tuple(
        Method(
            name,
            _own_defaults(stem),
            note=note,
            recipe=Recipe(
                (f"from jarf import {stem}{{Kind}}",), f"{stem}{{Kind}}(random_state=0)", True
            ),
        )
        for name, stem, note in kinds
        if hasattr(jarf, f"{stem}Regressor")
    )


METHODS = (
    Method(
        "JARF",
        _jarf,
        variants=VARIANTS,
        inspect=_inspect,
        note="the paper's method: the numeric columns are mixed by a matrix H, estimated from the "
        "gradients of a surrogate forest, and a random forest is fitted to the result",
        recipe=jarf_recipe("JARF"),
    ),
    Method(
        "JARF-XGB",
        lambda setting, **params: _jarf(setting, final="xgboost", **params),
        tuned_as="XGB",
        note="XGBoost on columns mixed by the paper's H, with the parameters tuned for XGB",
        requires=("xgboost",),
    ),
    Method(
        "XGB+J",
        _with_directions,
        tuned_as="XGB",
        note="XGBoost with directions of the EJOP as additional columns, if they help on held-out "
        "training rows",
        requires=("xgboost",),
    ),
    Method(
        "JF",
        engine_forest("JacobianForest"),
        note="our Jacobian forest: trees may cut along combinations of columns, drawn from the "
        "gradients of surrogate models, if that helps on held-out training rows; otherwise it "
        "is a plain forest",
        recipe=jarf_recipe("JacobianForest"),
    ),
    *_boosters(),
)
