import re

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from jarf import (
    AxisForestClassifier,
    AxisForestRegressor,
    JacobianBoostingClassifier,
    JacobianBoostingRegressor,
    JacobianForestClassifier,
    JacobianPreconditioner,
    JARFClassifier,
    RotationForestClassifier,
    SPORFClassifier,
)
from jarf.inspection import explain_path, explain_split
from jarf.inspection._trees import trees_of


@pytest.fixture(scope="module")
def data():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(400, 3)), columns=["income", "debt", "age"])
    X["income"] *= 1000
    return X, (X["income"] / 1000 > X["debt"]).to_numpy()


def evaluate(text, frame):
    """Evaluate the words of a cut for each row."""
    total, sign, offset = re.fullmatch(r"(.*) (<=|<|>=|>) (\S+)", text).groups()
    terms = re.findall(r"(?:^|([+-]) )?(-?[\d.e-]+ )?([a-z]+)", total)
    value = 0.0
    for plus, weight, name in terms:
        value = value + (-1 if plus == "-" else 1) * float(weight or 1) * frame[name]
    compare = {"<=": np.less_equal, "<": np.less, ">=": np.greater_equal, ">": np.greater}
    return compare[sign](value, float(offset)).to_numpy()


def under(forest, node):
    """All nodes of a subtree."""
    found = [node]
    for place in found:
        if not forest.is_leaf[place]:
            found += [forest.nodes["left"][place], forest.nodes["right"][place]]
    return found


FORESTS = [
    SPORFClassifier(3, random_state=0),
    RotationForestClassifier(3, random_state=0),
    JacobianForestClassifier(3, geometry="dense", random_state=0),
    JacobianBoostingClassifier(max_iter=3, geometry="linear", random_state=0),
]


@pytest.mark.parametrize("model", FORESTS)
def test_the_words_say_which_rows_go_left(data, model):
    X, y = data
    model.fit(X, y)
    leaves = model.apply(X)
    for tree in range(3):
        left = evaluate(explain_split(model, tree, digits=9), X)
        below = under(model.forest_, model.forest_.nodes["left"][model.forest_.roots[tree]])
        known = np.isin(leaves[:, tree] + model.forest_.roots[tree], below)
        assert np.mean(left == known) > 0.99


@pytest.mark.parametrize(
    "final", [None, RandomForestClassifier(3), ExtraTreesClassifier(3), "xgboost"]
)
def test_the_map_is_undone(data, final):
    X, y = data
    if final == "xgboost":
        final = pytest.importorskip("xgboost").XGBClassifier(n_estimators=3, n_jobs=1)
    model = JARFClassifier(final, n_estimators=3, random_state=0).fit(X, y)
    mapped = model.preconditioner_.transform(X)
    (part,) = trees_of(model).parts
    for tree in range(3):
        root = part.forest.nodes[part.forest.roots[tree]]
        known = mapped[:, root["feature"]].astype(np.float32) <= root["threshold"]
        left = evaluate(explain_split(model, tree, digits=9), X)
        assert np.mean(left == known) > 0.99


def test_leaves_of_boosted_trees_add_to_a_score(data):
    X, y = data
    rounds = {"max_iter": 3, "geometry": "linear", "random_state": 0, "early_stopping": False}
    one = JacobianBoostingClassifier(**rounds).fit(X, y)
    assert re.search(r"leaf \d+: -?[\d.]+ to the score$", explain_path(one, X[:1])[-1])
    labels = np.array(["low", "middle", "high"])[np.arange(len(X)) % 3]
    three = JacobianBoostingClassifier(**rounds).fit(X, labels)
    assert re.search(r"to the score of (low|middle|high)$", explain_path(three, X[:1])[-1])
    both = JacobianBoostingRegressor(**rounds).fit(X, X.iloc[:, :2])
    assert re.search(r"to the score of output [01]$", explain_path(both, X[:1])[-1])


def test_a_tree_of_its_own_map(data):
    X, y = data
    model = JARFClassifier(n_estimators=3, share="per-tree", random_state=0).fit(X, y)
    assert "income" in explain_split(model, 2)
    assert explain_path(model, X[:1], 2)[-1].startswith("leaf ")


def test_weights_have_length_one_and_the_largest_spread_comes_first(data):
    X, y = data
    text = explain_split(JARFClassifier(n_estimators=1, random_state=0).fit(X, y), digits=6)
    numbers = [float(v) for v in re.findall(r"([\d.e-]+) [a-z]", text)]
    assert np.isclose(np.linalg.norm(numbers), 1, atol=1e-5)
    assert len(numbers) == 3
    short = explain_split(
        JARFClassifier(n_estimators=1, random_state=0).fit(X, y), digits=2, max_terms=2
    )
    assert "+ 1 smaller terms" in short


def root_of(X, y, **params):
    model = AxisForestClassifier(
        1, max_features=None, bootstrap=False, max_depth=1, random_state=0, **params
    )
    return model.fit(X, y)


def test_categories_flags_and_missing_values_by_name(mixed_table):
    X, _ = mixed_table(500, 0)
    colour = root_of(X, X["colour"] == "green")
    assert explain_split(colour) == "colour is not green"
    green = np.flatnonzero(X["colour"] == "green")[0]
    assert explain_path(colour, X.iloc[[green]]) == ["colour is green", "leaf 2: 100% True"]
    assert explain_split(root_of(X, X["colour"].isna())) == "colour is not missing"
    assert explain_split(root_of(X, X["income"].isna())) == "income is missing"
    assert explain_split(root_of(X, X["member"].map(lambda v: v is True))) == "member is false"
    assert explain_split(root_of(X, X["floor"] == 2)) == "floor is not 2"
    city = root_of(X, X["city"].isin([f"c{k}" for k in range(20)]))
    assert explain_split(city).startswith("mean target of city <= 0.")


def test_a_cut_among_known_values_sends_missing_ones_left(mixed_table):
    X, _ = mixed_table(500, 0)
    wanted = X["income"].isna() | (X["income"] <= 0.3)
    model = root_of(X, wanted)
    assert re.fullmatch(
        r"income <= 0\.3\d* or income is missing|income <= 0\.2\d* or .*", explain_split(model)
    )
    known = np.flatnonzero(X["income"] > 0.5)[0]
    assert re.fullmatch(r"income > 0\.\d+", explain_path(model, X.iloc[[known]])[0])


def test_toggled_levels_are_terms(mixed_table):
    X, y = mixed_table(300, 0)
    model = JARFClassifier(
        preconditioner=JacobianPreconditioner(categorical="toggle"), n_estimators=3, random_state=0
    )
    said = explain_split(model.fit(X, y > 0), max_terms=None)
    assert "[colour is red]" in said
    assert "[member is true]" in said


def test_paths_end_in_the_trees_prediction():
    X = np.arange(20.0)[:, None]
    model = AxisForestRegressor(1, bootstrap=False, max_depth=2).fit(X, X[:, 0] // 5)
    for value in (2.0, 7.0, 12.0, 19.0):
        *steps, leaf = explain_path(model, [[value]])
        assert len(steps) == 2
        assert float(leaf.split(": ")[1]) == model.predict([[value]])[0]


def test_boosted_leaves_show_their_contribution(data):
    xgboost = pytest.importorskip("xgboost")
    X, y = data
    model = JARFClassifier(xgboost.XGBClassifier(n_estimators=2, n_jobs=1), random_state=0)
    labels = np.where(X["age"] > 1, 2, y.astype(int))
    assert re.search(r"to the score of [012]$", explain_path(model.fit(X, labels), X[:1], 1)[-1])


def test_invalid_arguments_are_refused(data):
    X, y = data
    model = SPORFClassifier(2, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="trees 0 to 1"):
        explain_split(model, 2)
    with pytest.raises(ValueError, match="has nodes 0 to"):
        explain_split(model, 0, 10**6)
    with pytest.raises(ValueError, match="is a leaf"):
        explain_split(model, 0, int(model.apply(X)[0, 0]))
    with pytest.raises(ValueError, match="one row"):
        explain_path(model, X[:2])
    with pytest.raises(TypeError, match="LogisticRegression"):
        explain_split(LogisticRegression().fit(X, y))
    other = JARFClassifier(LogisticRegression(), random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="cannot be read"):
        explain_split(other)
