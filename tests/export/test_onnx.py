import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from jarf import (
    AxisForestClassifier,
    AxisForestRegressor,
    CanonicalCorrelationForestClassifier,
    JacobianBoostingClassifier,
    JacobianBoostingRegressor,
    JacobianFeatures,
    JacobianForestClassifier,
    JacobianForestRegressor,
    JacobianPreconditioner,
    JARFClassifier,
    JARFRegressor,
    RotationForestClassifier,
    SPORFClassifier,
    SPORFRegressor,
)
from jarf.export import export_onnx, onnx_inputs
from jarf.export._graph import Graph
from jarf.export._trees_graph import map_graph
from jarf.geometry import LinearMap, LowRankPreconditioner

onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")


def run(model, X):
    """Return onnxruntime's predictions of the exported model."""
    content = export_onnx(model).SerializeToString()
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    return session.run(None, onnx_inputs(model, X))


def assert_same(model, X):
    found = run(model, X)
    if is_classifier(model):
        np.testing.assert_array_equal(found[0], model.predict(X))
        np.testing.assert_allclose(found[1], model.predict_proba(X), atol=1e-5)
    else:
        known = model.predict(X)
        np.testing.assert_allclose(found[0], known, rtol=1e-5, atol=1e-5 * np.abs(known).max())


def xgboost_model(name, **params):
    return getattr(pytest.importorskip("xgboost"), name)(**params)


# More trees than one operator holds.
BOOSTED = {"max_iter": 70, "max_leaf_nodes": 8, "early_stopping": False, "random_state": 0}
CLASSIFIERS = [
    AxisForestClassifier(10, random_state=0),
    SPORFClassifier(10, random_state=0),
    CanonicalCorrelationForestClassifier(10, random_state=0),
    RotationForestClassifier(10, random_state=0),
    JacobianForestClassifier(10, geometry="sparse", random_state=0),
    JacobianForestClassifier(10, geometry="dense", random_state=0),
    JacobianBoostingClassifier(geometry="mixed", **BOOSTED),
    JARFClassifier(n_estimators=10, random_state=0),
    JARFClassifier(RandomForestClassifier(10), random_state=0),
    JARFClassifier(
        ExtraTreesClassifier(10),
        preconditioner=JacobianPreconditioner(n_components=2),
        random_state=0,
    ),
    JARFClassifier(
        SPORFClassifier(5),
        preconditioner=JacobianPreconditioner(standardize=False),
        random_state=0,
    ),
    JARFClassifier(n_estimators=5, share="per-tree", random_state=0),
]
REGRESSORS = [
    SPORFRegressor(10, random_state=0),
    JacobianForestRegressor(10, geometry="sparse", random_state=0),
    JacobianBoostingRegressor(geometry="mixed", **BOOSTED),
    JARFRegressor(n_estimators=10, random_state=0),
    JARFRegressor(RandomForestRegressor(10), random_state=0),
    JARFRegressor(ExtraTreesRegressor(10), random_state=0),
]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X, rows = rng.normal(size=(500, 6)), rng.normal(size=(10_000, 6))
    rows[::50, 1] = np.nan  # missing at prediction only
    return X, 50 * (X[:, 0] + X[:, 1] - X[:, 2] / 2), rows


@pytest.mark.parametrize("model", CLASSIFIERS, ids=repr)
@pytest.mark.parametrize("bounds", [[0], [-50, 50]], ids=["binary", "multiclass"])
def test_classifiers_on_ten_thousand_rows(data, model, bounds):
    X, y, rows = data
    names = np.array(["low", "middle", "high"])
    labels = np.digitize(y, bounds)
    assert_same(model.fit(X, names[labels] if len(bounds) == 2 else labels), rows)


@pytest.mark.parametrize("model", REGRESSORS, ids=repr)
def test_regressors_on_ten_thousand_rows(data, model):
    X, y, rows = data
    assert_same(model.fit(X, y), rows)


@pytest.mark.parametrize("model", [*REGRESSORS, AxisForestRegressor(10, random_state=0)], ids=repr)
@pytest.mark.parametrize(("offset", "slope"), [(1e7, 5.0), (1.7e9, 1.0), (-1e12, 1e3)])
def test_responses_far_from_zero(data, model, offset, slope):
    """Leaves are float32: the offset goes past them."""
    X, _, rows = data
    y = offset + slope * X[:, 0]
    found, known = run(model.fit(X, y), rows)[0], model.predict(rows)
    np.testing.assert_allclose(found, known, rtol=0, atol=1e-5 * y.std() + 1e-15 * abs(offset))


def test_a_single_leaf_far_away_does_not_cost_the_others_their_precision(data):
    X, y, rows = data
    y = np.where(np.arange(len(y)) == 0, 1e12, y)
    model = AxisForestRegressor(1, bootstrap=False, random_state=0).fit(X, y)
    found, known = run(model, rows)[0], model.predict(rows)
    near = np.abs(known) < 1e6
    np.testing.assert_allclose(found[near], known[near], rtol=0, atol=1e-3)


@pytest.mark.parametrize(
    "model", [AxisForestClassifier(10, random_state=0), RotationForestClassifier(10, n_groups=2)]
)
def test_rows_on_a_threshold_go_the_same_way(data, model):
    X, y, rows = data
    assert_same(model.fit(X.round(), y > 0), np.round(2 * np.nan_to_num(rows)) / 2)


def test_numbers_are_rounded_before_they_fill_others(data):
    """A forest reads float32, so it is equally imprecise here for such large numbers."""
    X = np.random.default_rng(0).normal(size=(500, 2))
    X = np.column_stack([2.0**24 + X[:, 0], X[:, 0], X[:, 1]])
    model = SPORFRegressor(20, random_state=0).fit(X, X[:, 1])
    rows = X.copy()
    rows[:, 1] = np.nan
    assert_same(model, rows)


@pytest.mark.parametrize("loss", ["poisson", "gamma", "quantile", "several outputs"])
def test_links_and_outputs_of_boosting(data, loss):
    X, y, rows = data
    own = {} if loss == "several outputs" else {"loss": loss, "quantile": 0.8}
    y = np.column_stack([y, X[:, 3]]) if loss == "several outputs" else np.exp(y / 50)
    assert_same(JacobianBoostingRegressor(geometry="mixed", **own, **BOOSTED).fit(X, y), rows)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_boosting_behind_jarf(data, n_classes):
    X, y, rows = data
    final = JacobianBoostingClassifier(geometry="axes", **BOOSTED)
    model = JARFClassifier(final, random_state=0)
    assert_same(model.fit(X, np.digitize(y, [0] if n_classes == 2 else [-50, 50])), rows)


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_xgboost_behind_jarf_on_ten_thousand_rows(data, n_classes):
    X, y, rows = data
    if n_classes == 0:
        final = xgboost_model("XGBRegressor", n_estimators=20, gamma=10.0, n_jobs=1)
        model = JARFRegressor(final, random_state=0)
    else:
        final = xgboost_model("XGBClassifier", n_estimators=20, gamma=0.5, n_jobs=1)
        model = JARFClassifier(final, random_state=0)
        y = np.digitize(y, [0] if n_classes == 2 else [-50, 50])
    assert_same(model.fit(X, y), rows)


@pytest.mark.parametrize(
    "model",
    [
        SPORFClassifier(10, random_state=0),
        JARFClassifier(n_estimators=10, random_state=0),
        JARFClassifier(
            RandomForestClassifier(10),
            preconditioner=JacobianPreconditioner(categorical="toggle"),
            random_state=0,
        ),
        JacobianForestClassifier(10, geometry="dense", random_state=0),
        JacobianBoostingClassifier(geometry="mixed", **BOOSTED),
    ],
    ids=repr,
)
@pytest.mark.parametrize("bounds", [[0], [-1, 1]], ids=["binary", "multiclass"])
def test_categories_and_missing_values(mixed_table, model, bounds):
    X, y = mixed_table(500, 0)
    rows, _ = mixed_table(10_000, 1)
    rows.loc[::7, "debt"] = np.nan  # never missing in training
    rows.loc[::9, "colour"] = "ultraviolet"
    rows.loc[::11, "city"] = "nowhere"
    rows.loc[5::11, "city"] = None
    model.fit(X, np.digitize(y, bounds))
    assert model.table_.filling_ is not None
    assert_same(model, rows)


def test_a_text_model_has_an_input_a_column(mixed_table):
    X, y = mixed_table(200, 0)
    exported = export_onnx(SPORFRegressor(2, random_state=0).fit(X, y))
    inputs = {value.name: value.type.tensor_type.elem_type for value in exported.graph.input}
    assert list(inputs) == list(X.columns)
    assert inputs["colour"] == 8  # string
    assert inputs["floor"] == inputs["member"] == inputs["income"] == 11  # double
    domains = {node.domain for node in exported.graph.node}
    assert domains == {"", "ai.onnx.ml"}


def test_numbers_as_categories_and_columns_never_seen(data):
    X = data[0].copy()
    X[:, 3] = np.digitize(X[:, 3], [-1, 1])
    X[::10, 3] = np.nan
    X[:, 4] = np.nan
    X[:, 5] = np.arange(len(X)) % 70  # more levels than one output each
    model = JARFRegressor(n_estimators=5, categorical_features=[3, 5], random_state=0)
    model.fit(X, data[1])
    rows = X.copy()
    rows[::3, 3] = 9.0
    rows[::4, 5] = -1.0
    rows[::5, 4] = 2.0
    assert_same(model, rows)


@pytest.mark.parametrize(
    "model",
    [JacobianPreconditioner(random_state=0), JacobianFeatures(switch="on", random_state=0)],
    ids=repr,
)
def test_transformers(data, mixed_table, model):
    X, y, rows = data
    model.fit(X, y)
    np.testing.assert_allclose(run(model, rows)[0], model.transform(rows), atol=1e-9)
    X, y = mixed_table(200, 0)
    model.fit(X, y)
    np.testing.assert_allclose(run(model, X)[0], model.transform(X), atol=1e-9)


def test_a_file(data, tmp_path):
    X, y, _ = data
    model = JARFRegressor(n_estimators=2, random_state=0).fit(X, y)
    made = export_onnx(model, tmp_path / "map.onnx")
    assert (tmp_path / "map.onnx").read_bytes() == made.SerializeToString()


@pytest.mark.parametrize("labels", [[True, False], [1.0, 2.0], ["a", "b"], [3, 7]])
def test_labels_keep_their_kind(data, labels):
    X, y, rows = data
    model = AxisForestClassifier(3, random_state=0).fit(X, np.array(labels)[(y > 0).astype(int)])
    found = run(model, rows[:50])[0]
    np.testing.assert_array_equal(found, model.predict(rows[:50]))


def test_invalid_arguments_are_refused(data, mixed_table):
    X, y, _ = data
    model = JARFRegressor(LinearRegression(), random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="LinearRegression cannot be read"):
        export_onnx(model)
    frame, response = mixed_table(100, 0)
    with pytest.raises(ValueError, match="'output_label' cannot be an input"):
        export_onnx(SPORFRegressor(1).fit(frame.rename(columns={"debt": "output_label"}), response))
    frame.loc[0, "colour"] = ""
    with pytest.raises(ValueError, match="the empty text as a level"):
        export_onnx(SPORFRegressor(1).fit(frame, response))
    with pytest.raises(ValueError, match="X has 2 columns"):
        onnx_inputs(AxisForestClassifier(1).fit(X, y > 0), X[:, :2])


def test_labels_beyond_64_bits_are_refused(data):
    X, y, _ = data
    labels = np.array([1, 2**63 + 5], dtype=np.uint64)[(y > 0).astype(int)]
    with pytest.raises(ValueError, match=f"label {2**63 + 5} does not fit"):
        export_onnx(AxisForestClassifier(1).fit(X, labels))
    labels = np.array([1, 2**63 - 1], dtype=np.uint64)[(y > 0).astype(int)]
    model = AxisForestClassifier(1).fit(X, labels)
    np.testing.assert_array_equal(run(model, X)[0].astype(np.uint64), model.predict(X))


def test_estimators_around_a_model_are_refused_with_the_way_out(data):
    X, y, _ = data
    pipeline = make_pipeline(StandardScaler(), AxisForestClassifier(1)).fit(X, y > 0)
    with pytest.raises(TypeError, match=r"A Pipeline cannot be exported\. .* pipeline\[-1\]"):
        export_onnx(pipeline)
    assert export_onnx(pipeline[-1])
    calibrated = CalibratedClassifierCV(AxisForestClassifier(1), cv=2).fit(X, y > 0)
    with pytest.raises(TypeError, match="A CalibratedClassifierCV cannot be exported"):
        export_onnx(calibrated)
    assert export_onnx(calibrated.calibrated_classifiers_[0].estimator)


def test_h_in_factors_is_refused():
    from scipy.sparse import csr_array

    matrix = LowRankPreconditioner(csr_array(np.ones((1, 2))), np.ones(2))
    with pytest.raises(ValueError, match="kept in factors"):
        map_graph(Graph(), LinearMap(np.zeros(2), np.ones(2), matrix), "X")
