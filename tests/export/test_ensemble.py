"""Kernel machines and ensembles in files, in ONNX and explained."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

from jarf import (
    JacobianBoostingClassifier,
    JacobianBoostingRegressor,
    JacobianEnsembleClassifier,
    JacobianEnsembleRegressor,
    JacobianKernelClassifier,
    JacobianKernelRegressor,
)
from jarf.ensemble import Calibration, ConformalSets, EnsembleReport
from jarf.export import export_onnx, load, onnx_inputs, save
from jarf.inspection import shapley_values

rng = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "x": rng.normal(size=200),
        "z": rng.normal(size=200),
        "kind": rng.choice(["a", "b", "c"], 200),
    }
)
FRAME.loc[::17, "z"] = np.nan
Y = FRAME["x"].to_numpy() + (FRAME["kind"] == "a").to_numpy()
LABELS = np.where(Y > 0.8, "high", np.where(Y < 0, "low", "middle"))
BOTH = ["forest", "kernel"]
FEW = {"max_iter": 20, "random_state": 0}
CASES = {
    "booster": (JacobianBoostingClassifier(**FEW), LABELS),
    "booster of two classes": (JacobianBoostingClassifier(**FEW), Y > 0),
    "booster of responses": (JacobianBoostingRegressor(**FEW), Y),
    "kernel classifier": (JacobianKernelClassifier(random_state=0), LABELS),
    "two classes": (JacobianKernelClassifier(random_state=0), Y > 0),
    "kernel regressor": (JacobianKernelRegressor(random_state=0), Y),
    "ensemble classifier": (JacobianEnsembleClassifier(BOTH, random_state=0), LABELS),
    "ensemble of two classes": (JacobianEnsembleClassifier(BOTH, random_state=0), Y > 0),
    "ensemble regressor": (JacobianEnsembleRegressor(BOTH, random_state=0), Y),
}
NO_SETS = ConformalSets(np.zeros(30), np.ones(30))
ROW = {"member": "kernel", "loss": "low", "weight": 1.0, "seconds": 1.0, "outcome": "used"}
BAD_REPORT = EnsembleReport([ROW], "squared error", 0.1, 30)


@pytest.fixture(scope="module", params=CASES)
def model(request):
    made, target = CASES[request.param]
    fitted = made.fit(FRAME, target)
    if hasattr(fitted, "weights_"):  # keep both members, whatever greedy selection chose
        fitted = type(made)(BOTH, random_state=0).fit(FRAME, target)
        if len(fitted.members_) < 2:
            missing = next(name for name in BOTH if name not in fitted.members_)
            alone = type(made)([missing], random_state=0).fit(FRAME, target)
            fitted.members_[missing] = alone.members_[missing]
            fitted.weights_ = {"forest": 0.25, "kernel": 0.75}
    return fitted


def answers(model, X):
    return [
        getattr(model, name)(X)
        for name in ("predict", "predict_proba", "predict_set", "predict_interval")
        if hasattr(model, name)
    ]


def test_files_keep_all_answers(model, tmp_path):
    save(model, tmp_path / "model")
    copy = load(tmp_path / "model")
    for found, expected in zip(answers(copy, FRAME), answers(model, FRAME), strict=True):
        np.testing.assert_array_equal(found, expected)
    if hasattr(model, "report_"):
        assert str(copy.report_) == str(model.report_)


def test_onnx_answers_the_same(model):
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(export_onnx(model).SerializeToString())
    found = session.run(None, onnx_inputs(model, FRAME))
    if hasattr(model, "classes_"):
        np.testing.assert_array_equal(found[0], model.predict(FRAME))
        np.testing.assert_allclose(found[1], model.predict_proba(FRAME), atol=1e-5)
    else:
        np.testing.assert_allclose(found[0], model.predict(FRAME), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", [name for name in CASES if name.endswith("regressor")])
@pytest.mark.parametrize(("offset", "slope"), [(1e7, 5.0), (1.7e9, 1.0), (-1e12, 1e3)])
def test_onnx_keeps_offsets(name, offset, slope):
    runtime = pytest.importorskip("onnxruntime")
    y = offset + slope * FRAME["x"].to_numpy()
    model = clone(CASES[name][0]).fit(FRAME, y)
    session = runtime.InferenceSession(export_onnx(model).SerializeToString())
    found = session.run(None, onnx_inputs(model, FRAME))[0].reshape(-1)
    bound = 1e-5 * y.std() + 1e-15 * abs(offset)
    np.testing.assert_allclose(found, model.predict(FRAME), rtol=0, atol=bound)


def test_shapley_values_add_up_to_the_prediction(model):
    found = shapley_values(model, FRAME[:4], FRAME[50:60])
    total = found.base_values + found.values.sum(axis=1)
    assert found.feature_names.tolist() == ["x", "z", "kind"]
    if hasattr(model, "members_") and hasattr(model, "classes_"):
        # The last temperature of an ensemble is not linear: what it is applied to is explained.
        expected = sum(
            weight * model.members_[name].predict_proba(FRAME[:4])
            for name, weight in model.weights_.items()
        )
    elif hasattr(model, "classes_"):
        expected = model.predict_proba(FRAME[:4])
    else:
        expected = model.predict(FRAME[:4])
    np.testing.assert_allclose(total, expected, atol=1e-9)


def test_importances_are_those_of_the_original_columns(model):
    found = model.feature_importances_
    assert found.shape == (3,)
    assert found.sum() == pytest.approx(1)
    assert found.argmax() != 1


def test_a_member_of_another_library_is_named(tmp_path):
    X = FRAME[["x"]].to_numpy()
    foreign = JacobianEnsembleRegressor([("line", LinearRegression())]).fit(X, Y)
    with pytest.raises(TypeError, match="member 'line' of the ensemble, LinearRegression"):
        save(foreign, tmp_path / "model")
    with pytest.raises(TypeError, match="member 'line' of the ensemble, LinearRegression"):
        export_onnx(foreign)
    with pytest.raises(TypeError, match="member 'line' of the ensemble, LinearRegression"):
        shapley_values(foreign, X[:2], X[:4])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda model: model.weights_.update(kernel=2.0), "weights are wrong"),
        (lambda model: model.members_.clear(), "members and weights do not match"),
        (lambda model: setattr(model, "n_features_in_", 2), "number of column names"),
        (lambda model: setattr(model, "conformal_", NO_SETS), "belong to another task"),
        (lambda model: setattr(model, "calibration_", Calibration()), "calibration are missing"),
        (lambda model: setattr(model, "report_", BAD_REPORT), "not a sound model file"),
    ],
)
def test_unsound_ensembles_are_refused(change, message, tmp_path):
    broken = JacobianEnsembleRegressor(["kernel"], random_state=0).fit(FRAME, Y)
    change(broken)
    save(broken, tmp_path / "model")
    with pytest.raises(ValueError, match=message):
        load(tmp_path / "model")
