import json
import zipfile
from contextlib import suppress

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from jarf import (
    AxisForestClassifier,
    CanonicalCorrelationForestClassifier,
    JacobianBoostingClassifier,
    JacobianBoostingRegressor,
    JacobianFeatures,
    JacobianForestClassifier,
    JacobianForestRegressor,
    JacobianPreconditioner,
    JARFClassifier,
    JARFRegressor,
    RotationForestRegressor,
    SPORFClassifier,
    SPORFRegressor,
)
from jarf.ensemble import CYCLES, GEOMETRIES
from jarf.export import load, save
from jarf.export._members import Budget, read_members, write_members
from jarf.geometry import LowRankPreconditioner
from jarf.inspection import EJOPSpectrumDisplay, explain_split, shapley_values

CLASSIFIERS = [
    AxisForestClassifier(5, oob_score=True, max_samples=0.5, random_state=0),
    SPORFClassifier(5, class_weight={0: 1.0, 1: 2.0, 2: 1.0}, random_state=0),
    CanonicalCorrelationForestClassifier(5, random_state=0),
    JacobianForestClassifier(5, random_state=0),
    JacobianBoostingClassifier(max_iter=5, geometry=["linear"], random_state=0),
    JARFClassifier(n_estimators=5, random_state=0),
    JARFClassifier(RandomForestClassifier(5, oob_score=False), random_state=0),
    JARFClassifier(
        ExtraTreesClassifier(5),
        preconditioner=JacobianPreconditioner(n_components=2),
        random_state=0,
    ),
    JARFClassifier(n_estimators=3, share="per-tree", random_state=0),
    JARFClassifier(RandomForestClassifier(3), share="per-tree", random_state=0),
]
REGRESSORS = [
    RotationForestRegressor(5, random_state=0),
    SPORFRegressor(5, random_state=np.random.RandomState(0)),
    JacobianForestRegressor(5, geometry="fast", random_state=0),
    JacobianBoostingRegressor(max_iter=5, geometry=CYCLES["mixed"], random_state=0),
    JacobianBoostingRegressor("huber", max_iter=5, geometry=GEOMETRIES["linear"], random_state=0),
    JARFRegressor(RandomForestRegressor(5), random_state=0),
    JARFRegressor(ExtraTreesRegressor(5), random_state=0),
    JARFRegressor(
        preconditioner=JacobianPreconditioner(DecisionTreeRegressor()),
        n_estimators=5,
        n_jobs=2,
        random_state=0,
    ),
    JacobianPreconditioner(random_state=0),
    JacobianPreconditioner(n_components=2, standardize=False, random_state=0),
]


# Fitted attributes that files leave out.
NOT_STORED = {"surrogate_", "validation_rows_", "validation_predictions_"}


def assert_same_bits(model, X, path):
    digest = save(model, path)
    loaded = load(path, sha256=digest)
    assert type(loaded) is type(model)
    for method in ("predict", "predict_proba", "transform", "apply"):
        if hasattr(model, method):
            found, known = getattr(loaded, method)(X), getattr(model, method)(X)
            np.testing.assert_array_equal(found, known)
    if hasattr(model, "feature_importances_"):
        np.testing.assert_array_equal(loaded.feature_importances_, model.feature_importances_)
    public = {name for name in vars(model) if name.endswith("_") and name[0] != "_"}
    assert public - set(vars(loaded)) <= NOT_STORED
    return loaded


@pytest.fixture(scope="module")
def data():
    X = np.random.default_rng(0).normal(size=(200, 4))
    return X, X[:, 0] + X[:, 1] - X[:, 2]


@pytest.mark.filterwarnings("ignore:Some rows are in the bootstrap sample")
@pytest.mark.parametrize("model", CLASSIFIERS, ids=repr)
def test_classifiers_come_back_with_the_same_bits(data, mixed_table, model, tmp_path):
    X, y = data
    assert_same_bits(model.fit(X, np.digitize(y, [-1, 1])), X, tmp_path / "a")
    X, y = mixed_table(200, 0)
    labels = np.digitize(y, [-1, 1])
    if getattr(model, "class_weight", None) is None:
        labels = np.array(["a", "b", "c"], dtype=object)[labels]
    loaded = assert_same_bits(model.fit(X, labels), X, tmp_path / "b")
    assert loaded.classes_.dtype == model.classes_.dtype


@pytest.mark.parametrize("model", REGRESSORS, ids=lambda model: type(model).__name__)
def test_regressors_and_maps_come_back_with_the_same_bits(data, mixed_table, model, tmp_path):
    X, y = data
    assert_same_bits(model.fit(X, y), X, tmp_path / "a")
    assert_same_bits(model.fit(X.astype(np.float32), y), X, tmp_path / "b")
    X, y = mixed_table(200, 0)
    assert_same_bits(model.fit(X, y), X, tmp_path / "c")


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_xgboost_comes_back_with_the_same_bits(data, n_classes, tmp_path):
    xgboost = pytest.importorskip("xgboost")
    X, y = data
    if n_classes == 0:
        model = JARFRegressor(xgboost.XGBRegressor(n_estimators=5, n_jobs=1), random_state=0)
    else:
        model = JARFClassifier(xgboost.XGBClassifier(n_estimators=5, n_jobs=1), random_state=0)
        y = np.digitize(y, [0] if n_classes == 2 else [-1, 1])
    loaded = assert_same_bits(model.fit(X, y), X, tmp_path / "model")
    assert loaded.estimator.n_estimators == 5


@pytest.mark.parametrize("loss", ["squared_error", "quantile", "poisson", "gamma"])
def test_boosted_trees_come_back_and_go_on(data, loss, tmp_path):
    X, y = data
    y = np.column_stack([y, -y]) if loss == "squared_error" else np.exp(y)
    model = JacobianBoostingRegressor(
        loss, quantile=0.8, max_iter=5, geometry=["linear"], random_state=0, early_stopping=False
    )
    model.set_params(warm_start=True).fit(X, y)
    loaded = assert_same_bits(model, X, tmp_path / "model")
    assert loaded.geometry_ == model.geometry_
    assert loaded.race_ == model.race_
    for same in (model, loaded):
        same.set_params(max_iter=8).fit(X, y)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_monotone_constraints_come_back(data, tmp_path):
    X, y = data
    signs = {"max_iter": 5, "monotonic_cst": [1, 0, 0, -1], "geometry": "axes"}
    loaded = assert_same_bits(JacobianBoostingRegressor(**signs).fit(X, y), X, tmp_path / "model")
    assert loaded.monotonic_cst_.tolist() == loaded.monotonic_cst == [1, 0, 0, -1]


def test_appended_directions_come_back(data, mixed_table, tmp_path):
    X, y = data
    model = JacobianFeatures(switch="on", random_state=0).fit(X, y)
    loaded = assert_same_bits(model, X, tmp_path / "model")
    assert loaded.get_params() == model.get_params()
    X, y = mixed_table(100, 0)
    model = JacobianFeatures(switch=DecisionTreeRegressor(), random_state=0).fit(X, y)
    loaded = assert_same_bits(model, X, tmp_path / "mixed")
    assert loaded.gain_ == model.gain_


def test_a_map_in_factors_comes_back(data, tmp_path, monkeypatch):
    monkeypatch.setattr("jarf.gradients._ejop.WIDE_FROM", 3)
    X, y = data
    model = JARFRegressor(n_estimators=3, random_state=0).fit(X, y)
    loaded = assert_same_bits(model, X, tmp_path / "model")
    assert isinstance(loaded.preconditioner_.preconditioner_, LowRankPreconditioner)


def test_a_loaded_model_explains_itself_and_can_be_fitted_again(data, tmp_path):
    X, y = data
    model = JARFRegressor(
        preconditioner=JacobianPreconditioner(DecisionTreeRegressor()),
        n_estimators=5,
        random_state=3,
    )
    model.fit(X, y)
    EJOPSpectrumDisplay.from_estimator(model.preconditioner_)
    assert len(model.preconditioner_.eigenvalues_) == 4  # computed now, not saved
    save(model, tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert explain_split(loaded) == explain_split(model)
    known = shapley_values(model, X[:2], X[5:9]).values
    np.testing.assert_array_equal(shapley_values(loaded, X[:2], X[5:9]).values, known)
    np.testing.assert_array_equal(
        loaded.preconditioner_.eigenvalues_, model.preconditioner_.eigenvalues_
    )
    EJOPSpectrumDisplay.from_estimator(loaded)
    assert loaded.get_params()["random_state"] == 3
    assert loaded.preconditioner.surrogate is None  # of a class that is not listed
    assert not hasattr(loaded.preconditioner_, "surrogate_")
    loaded.fit(X, y)


def test_the_same_model_gives_the_same_file(data, tmp_path):
    X, y = data
    model = SPORFRegressor(3, random_state=0).fit(X, y)
    assert save(model, tmp_path / "a") == save(model, tmp_path / "b")


def test_unsupported_models_are_not_saved(data, tmp_path):
    X, y = data
    with pytest.raises(TypeError, match="LinearRegression is not an estimator"):
        save(LinearRegression().fit(X, y), tmp_path / "model")
    model = JARFRegressor(LinearRegression(), random_state=0).fit(X, y)
    with pytest.raises(TypeError, match="an object of class LinearRegression"):
        save(model, tmp_path / "model")
    assert not (tmp_path / "model").exists()
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "model")


def test_estimators_around_a_model_are_refused_with_the_way_out(data, tmp_path):
    X, y = data
    pipeline = make_pipeline(StandardScaler(), AxisForestClassifier(1)).fit(X, y > 0)
    with pytest.raises(TypeError, match=r"A Pipeline cannot be saved\. .* pipeline\[-1\]"):
        save(pipeline, tmp_path / "model")
    calibrated = CalibratedClassifierCV(AxisForestClassifier(1), cv=2).fit(X, y > 0)
    with pytest.raises(TypeError, match=r"calibrated\.calibrated_classifiers_\[k\]\.estimator"):
        save(calibrated, tmp_path / "model")
    search = GridSearchCV(AxisForestClassifier(1), {"max_depth": [1]}, cv=2).fit(X, y > 0)
    with pytest.raises(TypeError, match=r"A GridSearchCV cannot be saved\. Pass its best_estim"):
        save(search, tmp_path / "model")
    with pytest.raises(TypeError, match="Save other models with the tools of their own library"):
        save(LinearRegression().fit(X, y), tmp_path / "model")
    assert not (tmp_path / "model").exists()


# --- files that are refused -------------------------------------------------------------------


@pytest.fixture
def saved(data, tmp_path):
    X, y = data
    path = tmp_path / "model"
    save(JARFClassifier(RandomForestClassifier(2), random_state=0).fit(X, y > 0), path)
    return path


def test_every_changed_byte_is_noticed_or_says_nothing(data, saved):
    X, n_refused = data[0], 0
    known = load(saved).predict_proba(X)
    content = saved.read_bytes()
    for place in np.linspace(0, len(content) - 1, 60).astype(int):
        changed = bytearray(content)
        changed[place] ^= 0x10
        saved.write_bytes(changed)
        try:
            model = load(saved)
        except ValueError:
            n_refused += 1
        else:  # a byte without meaning, such as a date
            np.testing.assert_array_equal(model.predict_proba(X), known)
    assert n_refused > 30


@pytest.mark.parametrize("content", [bytes(8), b""])
def test_exchanged_members_are_noticed(saved, content):
    with zipfile.ZipFile(saved) as archive:
        comment = archive.comment
        members = {name: archive.read(name) for name in archive.namelist()}
    name = next(name for name, old in members.items() if len(old) >= 8 and name != "manifest.json")
    members[name] = (content + members[name][8:]) if content else content
    with zipfile.ZipFile(saved, "w") as archive:
        archive.comment = comment
        for member, new in members.items():
            archive.writestr(member, new)
    with pytest.raises(ValueError, match=r"was changed|size that the archive declares"):
        load(saved)


@pytest.mark.parametrize("keep", [0, 10, 0.3, 0.9, -1])
def test_truncated_files_are_refused(saved, keep):
    content = saved.read_bytes()
    saved.write_bytes(content[: int(keep * len(content)) if 0 < keep < 1 else keep])
    with pytest.raises(ValueError, match="not a sound model file"):
        load(saved)


@pytest.mark.parametrize("place", ["offset of a member", "start of the list"])
def test_offsets_that_lead_out_of_the_file_are_refused(saved, place):
    """Damage that makes zipfile seek out of range is not reported as a disk error."""
    content = bytearray(saved.read_bytes())
    at = content.rindex(b"PK\x05\x06") + 16
    if place == "offset of a member":
        at = content.index(b"PK\x01\x02") + 42
    content[at : at + 4] = (2**32 - 2).to_bytes(4, "little")
    saved.write_bytes(content)
    with pytest.raises(ValueError, match="not a sound model file"):
        load(saved)


def test_random_damage_is_refused_by_value_errors(saved):
    content = saved.read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(300):
        changed = bytearray(content)
        for place in rng.integers(len(content), size=rng.integers(1, 9)):
            changed[-1 - place // 8 if rng.random() < 0.5 else place] = rng.integers(256)
        saved.write_bytes(changed)
        with suppress(ValueError):
            load(saved)


def test_files_that_cannot_be_opened(saved, tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing")
    with pytest.raises(OSError):  # noqa: PT011
        load(tmp_path)
    with open(saved, "rb") as stream:
        assert load(stream).n_features_in_ == 4


def test_another_file_is_not_the_one_asked_for(saved):
    with pytest.raises(ValueError, match="SHA-256"):
        load(saved, sha256="0" * 64)


def test_bombs_are_refused(saved):
    with pytest.raises(ValueError, match="max_bytes=1000"):
        load(saved, max_bytes=1000)
    manifest, members = read_members(saved, Budget())
    write_members(saved, {"model": manifest["model"]}, {**members, "data/x": bytes(10**7)})
    with pytest.raises(ValueError, match="would unpack to"):
        load(saved, max_bytes=10**6)


@pytest.mark.parametrize("name", ["../../evil", "/etc/evil", "data/extra"])
def test_members_that_are_not_listed_are_refused(saved, name):
    with zipfile.ZipFile(saved, "a") as archive:
        archive.writestr(name, b"evil")
    with pytest.raises(ValueError, match="not a sound model file"):
        load(saved)


def test_other_archives_and_versions_are_refused(saved):
    manifest, members = read_members(saved, Budget())
    write_members(saved, {"model": manifest["model"], "version": 99}, members)
    with pytest.raises(ValueError, match="version 99"):
        load(saved)
    write_members(saved, {"model": manifest["model"], "format": "other"}, members)
    with pytest.raises(ValueError, match="not a model file"):
        load(saved)
    with zipfile.ZipFile(saved, "w") as archive:
        archive.writestr("notes.txt", "hello")
    with pytest.raises(ValueError, match="no manifest"):
        load(saved)


def test_deep_manifests_are_refused(saved):
    deep = "[" * 100_000 + "]" * 100_000
    from hashlib import sha256

    text = f'{{"format": "jarf model", "version": 2, "members": {{}}, "model": {deep}}}'.encode()
    with zipfile.ZipFile(saved, "w") as archive:
        archive.comment = sha256(text).hexdigest().encode()
        archive.writestr("manifest.json", text)
    with pytest.raises(ValueError, match="not a sound model file"):
        load(saved)


def edit(path, change):
    """Write a file again, hashes and all, after ``change(model, members)``."""
    manifest, members = read_members(path, Budget())
    members = dict(members)
    change(manifest["model"], members)
    write_members(path, {"model": manifest["model"]}, members)


def test_race_is_kept_and_older_files_have_less_of_it(data, tmp_path):
    X, y = data
    model = JacobianForestClassifier(2, geometry=["linear"], random_state=0).fit(X, y > 0)
    path = tmp_path / "model"
    save(model, path)
    assert load(path).race_ == model.race_

    def forget(model, members):
        for name in ("measure", "reason"):
            model["state"]["race_"]["state"].pop(name)

    edit(path, forget)
    found = load(path).race_
    assert (found.rows, found.measure, found.reason) == (model.race_.rows, "", "")
    assert "standard error" in str(found)


def test_unknown_classes_and_attributes_are_refused(saved):
    edit(saved, lambda model, members: model.update(object="os.system"))
    with pytest.raises(ValueError, match=r"'os\.system', which is not among"):
        load(saved)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda state: state.update(predict=None), "unexpected attributes"),
        (lambda state: state.pop("table_"), "has no table_"),
        (lambda state: state.update(n_features_in_=-4), "kind count"),
        (lambda state: state.update(n_features_in_=10**30), "the model.s columns"),
        (lambda state: state.update(classes_="evil"), "kind labels"),
        (lambda state: state.update(estimator_={"dict": []}), "sound model file"),
        (lambda state: state["params"]["dict"].append(["n_jobs", 10**9]), "parameter 'n_jobs'"),
        (lambda state: state["params"]["dict"].append(["evil", 1]), "parameter 'evil'"),
        (lambda state: state["params"]["dict"].append(["n_estimators", -1]), "'n_estimators' par"),
        (lambda state: state["params"]["dict"].append(["preconditioner", 1]), "'preconditioner'"),
        (lambda state: state.update(preconditioner_={"evil": 1}), "unknown kind of value"),
        (lambda state: state["classes_"].update(dtype="complex128"), "dtype 'complex128'"),
        (lambda state: state["classes_"].update(shape=[10**12]), "does not have the shape"),
        (lambda state: state["classes_"].update(array="data/none"), "sound model file"),
    ],
)
def test_edited_states_are_refused(saved, change, message):
    edit(saved, lambda model, members: change(model["state"]))
    with pytest.raises(ValueError, match=message):
        load(saved)


def rewrite(path, change):
    """Load the arrays of a booster's file, change one of its fields, and write it again."""
    model = load(path)
    change(model)
    save(model, path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda model: setattr(model, "n_iter_", 9), "rounds and trees"),
        (lambda model: setattr(model, "learning_rate_", 0.0), "learning rate"),
        (lambda model: setattr(model, "response_scales_", np.zeros(1)), "unit of the responses"),
        (lambda model: setattr(model, "response_means_", np.zeros(2)), "match the outputs"),
        (lambda model: setattr(model.forest_, "link", "logit"), "not boosted"),
        (lambda model: setattr(model.forest_, "averaged", True), "not boosted"),
        (lambda model: setattr(model.forest_, "base", np.full(1, 1e3)), "overflow"),
        (lambda model: setattr(model, "geometry_", 3), "geometry_"),
        (lambda model: setattr(model, "monotonic_cst_", np.ones(3, np.int8)), "monotone"),
        (lambda model: setattr(model, "n_outputs_", 2), "match the outputs"),
    ],
)
def test_boosters_whose_parts_do_not_fit_are_refused(data, change, message, tmp_path):
    X, y = data
    model = JacobianBoostingRegressor("poisson", max_iter=3, geometry="axes", random_state=0)
    path = tmp_path / "model"
    save(model.fit(X, np.exp(y)), path)
    rewrite(path, change)
    with pytest.raises(ValueError, match=message):
        load(path)


def test_loaded_json_is_read_as_data_only(saved):
    """The manifest is JSON and the members are raw arrays: there is nothing to unpickle."""
    with zipfile.ZipFile(saved) as archive:
        names = archive.namelist()
        assert json.loads(archive.read("manifest.json"))["format"] == "jarf model"
    assert all(name == "manifest.json" or name.startswith("data/") for name in names)
