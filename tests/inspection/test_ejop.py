import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError

from jarf import (
    EJOP,
    AxisForestRegressor,
    JacobianBoostingRegressor,
    JacobianEnsembleClassifier,
    JacobianForestRegressor,
    JacobianPreconditioner,
    JARFClassifier,
    SPORFClassifier,
    SPORFRegressor,
    expected_jacobian_outer_product,
)
from jarf.datasets import make_rotated_halfspace
from jarf.inspection import (
    AlignmentDisplay,
    EJOPLoadingsDisplay,
    EJOPSpectrumDisplay,
    SensitivityDisplay,
    TopPlaneDisplay,
)

DISPLAYS = [EJOPSpectrumDisplay, EJOPLoadingsDisplay, SensitivityDisplay]


@pytest.fixture(scope="module")
def data():
    return make_rotated_halfspace(400, 5, angle=45, random_state=0)


@pytest.fixture(scope="module")
def fitted(data):
    return JARFClassifier(n_estimators=5, random_state=0).fit(*data)


@pytest.mark.parametrize("display", DISPLAYS)
def test_drawn_on_given_axes_or_on_its_own(fitted, display):
    _, ax = pytest.importorskip("matplotlib.pyplot").subplots()
    drawn = display.from_estimator(fitted, ax=ax)
    assert drawn.ax_ is ax
    assert drawn.figure_ is ax.figure
    again = drawn.plot()
    assert again is drawn
    assert again.ax_ is not ax


def test_the_numbers_are_those_of_the_preconditioner(fitted):
    mapping = fitted.preconditioner_
    spectrum = EJOPSpectrumDisplay.from_estimator(fitted)
    np.testing.assert_allclose(spectrum.eigenvalues, mapping.eigenvalues_)
    assert spectrum.shares.sum() == pytest.approx(1)
    loadings = EJOPLoadingsDisplay.from_estimator(mapping)
    np.testing.assert_allclose(loadings.loadings, mapping.eigenvectors_)
    assert set(loadings.strongest(2, 1).tolist()) == {0, 1}
    sensitivity = SensitivityDisplay.from_estimator(mapping)
    np.testing.assert_allclose(sensitivity.sensitivities, mapping.feature_sensitivities_)


def test_a_known_spectrum():
    matrix = np.diag([8.0, 4.0, 4.0])
    display = EJOPSpectrumDisplay.from_ejop(EJOP(3 * matrix, 3.0, 3))
    np.testing.assert_allclose(display.shares, [0.5, 0.25, 0.25])
    assert display.effective_rank == pytest.approx(16 / 6)
    heights = [bar.get_height() for bar in display.ax_.patches]
    np.testing.assert_allclose(heights, display.shares)
    named = SensitivityDisplay.from_ejop(matrix, feature_names=["a", "b", "c"])
    assert [tick.get_text() for tick in named.ax_.get_yticklabels()] == ["a", "b", "c"]
    np.testing.assert_allclose(named.sensitivities**2, [8, 4, 4])


@pytest.mark.parametrize("kind", ["heatmap", "bars"])
def test_the_strongest_column_is_on_top(fitted, kind):
    display = EJOPLoadingsDisplay.from_estimator(fitted, kind=kind, n_components=1, n_features=2)
    labels = [tick.get_text() for tick in display.ax_.get_yticklabels()]
    assert labels[0] == f"x{np.abs(display.loadings[:, 0]).argmax()}"
    bottom, top = display.ax_.get_ylim()
    assert bottom > top


def test_a_forest_is_differentiated_itself(data):
    X, y = data
    model = SPORFClassifier(30, random_state=0).fit(X, y)
    for labels in (y, None):
        found = SensitivityDisplay.from_estimator(model, X, labels).sensitivities
        assert set(np.argsort(found)[-2:].tolist()) == {0, 1}
    rows = np.random.default_rng(0).normal(size=(1200, 3)) * [1, 100, 1]
    rounds = {"max_iter": 60, "early_stopping": False}
    for model in (
        JacobianForestRegressor(30, geometry="smooth", random_state=0),
        JacobianBoostingRegressor(geometry="linear", random_state=0, **rounds),
    ):
        model.fit(rows, rows @ [1, 0.01, 0])
        display = EJOPLoadingsDisplay.from_estimator(model, rows, rows[:, 0])
        assert abs(display.loadings[:2, 0] @ [1, 1]) / np.sqrt(2) > 0.95


def test_a_given_preconditioner_goes_first(data, fitted):
    model = SPORFClassifier(2, random_state=0).fit(*data)
    display = EJOPSpectrumDisplay.from_estimator(model, preconditioner=fitted)
    np.testing.assert_allclose(display.eigenvalues, fitted.preconditioner_.eigenvalues_)


def test_original_columns_are_named(mixed_table):
    X, y = mixed_table(300, 0)
    model = JacobianPreconditioner(random_state=0).fit(X, y)
    loadings = EJOPLoadingsDisplay.from_estimator(model)
    assert loadings.feature_names.tolist() == ["income", "debt", "savings"]
    assert SensitivityDisplay.from_estimator(model).feature_names.tolist() == list(X.columns)


def test_categories_are_not_drawn_as_zeros(mixed_table):
    X, y = mixed_table(300, 0)
    numbers, categories = list(X.columns[:3]), list(X.columns[3:])
    mapping = JacobianPreconditioner(random_state=0).fit(X, y)
    forest = SPORFRegressor(5, random_state=0).fit(X, y)
    for display in (
        SensitivityDisplay.from_estimator(mapping),
        SensitivityDisplay.from_estimator(forest, X, y),
    ):
        found = dict(zip(display.feature_names, display.sensitivities, strict=True))
        assert all(found[name] > 0 for name in numbers)
        assert all(np.isnan(found[name]) for name in categories)
        labels = [tick.get_text() for tick in display.ax_.get_yticklabels()]
        marked = [labels[int(text.get_position()[1])] for text in display.ax_.texts]
        assert {text.get_text() for text in display.ax_.texts} == {"not differentiated"}
        assert marked == labels[3:] == categories
    toggled = JacobianPreconditioner(categorical="toggle", random_state=0).fit(X, y)
    display = SensitivityDisplay.from_estimator(toggled)
    known = toggled.feature_sensitivities_.copy()
    known[4] = np.nan  # 60 cities have no columns of zeros and ones
    np.testing.assert_allclose(display.sensitivities, known)
    assert len(display.ax_.texts) == 1


def test_invalid_arguments_are_refused(data):
    model = SPORFClassifier(2, random_state=0).fit(*data)
    with pytest.raises(TypeError, match="holds no EJOP"):
        EJOPSpectrumDisplay.from_estimator(model)
    with pytest.raises(TypeError, match="holds no EJOP"):
        EJOPSpectrumDisplay.from_estimator(model, preconditioner=model)
    with pytest.raises(ValueError, match="square"):
        EJOPSpectrumDisplay.from_ejop(np.ones((2, 3)))
    with pytest.raises(ValueError, match="2 entries for 3"):
        SensitivityDisplay.from_ejop(np.eye(3), feature_names=["a", "b"])
    with pytest.raises(ValueError, match="kind must be"):
        EJOPLoadingsDisplay.from_ejop(np.eye(3), kind="pie")


@pytest.mark.parametrize("display", [SensitivityDisplay, EJOPSpectrumDisplay, AlignmentDisplay])
def test_a_model_of_another_library_is_refused_with_the_way_out(data, display):
    X, y = data
    model = RandomForestClassifier(5, random_state=0).fit(X, y)
    with pytest.raises(TypeError, match=r"is not a model of this library\. .*from_ejop"):
        display.from_estimator(model, X, y)
    ejop = expected_jacobian_outer_product(model, X, y)  # the way out
    assert len(SensitivityDisplay.from_ejop(ejop).sensitivities) == X.shape[1]


def test_noise_has_the_lowest_sensitivity_of_a_forest():
    """A forest jumps along a continuous column of noise, but is not sensitive to it."""
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [rng.choice([2, 8, 16, 32], 400), rng.choice([25, 50, 100], 400), rng.normal(size=400)]
    )
    y = 60 * X[:, 0] + 5 * X[:, 1] + rng.normal(0, 60, 400)
    forest = AxisForestRegressor(50, random_state=0).fit(X, y)
    found = SensitivityDisplay.from_estimator(forest, X, y).sensitivities
    assert found.argsort()[::-1].tolist() == [0, 1, 2]


def test_outliers_do_not_inflate_the_sensitivity_of_a_forest():
    """The sensitivity is about the change that one robust standard deviation makes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = X[:, 0] + X[:, 1]
    X[:4, 1] = 300.0
    forest = AxisForestRegressor(50, random_state=0).fit(X, y)
    display = SensitivityDisplay.from_estimator(forest, X, y)
    assert display.sensitivities.max() < 1.5 * display.sensitivities.min()
    assert display.ax_.get_xlabel() == "root mean square change per standard deviation"


def test_the_label_of_a_sensitivity_names_its_unit(data):
    per = "root mean square derivative per "
    for standardize, unit in ((True, "standard deviation"), (False, "unit of the column")):
        model = JacobianPreconditioner(standardize=standardize, random_state=0).fit(*data)
        assert SensitivityDisplay.from_estimator(model).ax_.get_xlabel() == per + unit


@pytest.mark.parametrize("display", [SensitivityDisplay, TopPlaneDisplay, AlignmentDisplay])
def test_an_ensemble_is_refused_with_its_members(data, display):
    X, y = data
    member = SPORFClassifier(5, random_state=0)
    model = JacobianEnsembleClassifier([("mine", member)], random_state=0)
    with pytest.raises(NotFittedError):
        display.from_estimator(model, X, y)
    model.fit(X, y)
    with pytest.raises(TypeError, match=r"holds several models.* model\.members_\['mine'\]"):
        display.from_estimator(model, X, y)


def test_an_unfitted_model_is_not_fitted_with_and_without_rows(data):
    for rows in (data, ()):
        with pytest.raises(NotFittedError):
            SensitivityDisplay.from_estimator(SPORFClassifier(2), *rows)
