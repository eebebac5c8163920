import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from jarf import JacobianForestClassifier, JARFClassifier, JARFRegressor
from jarf.inspection import TopPlaneDisplay


@pytest.fixture(scope="module")
def data():
    X = np.random.default_rng(0).normal(size=(400, 3)) * [1, 10, 1]
    return X, X @ [1, -0.1, 0]


def test_a_linear_model_is_a_plane_over_the_plane(data):
    X, y = data
    model = JARFRegressor(LinearRegression(), random_state=0).fit(X, y)
    slopes = np.array([1, -0.1, 0]) * X.std(axis=0)
    X, y = X[y > 0], y[y > 0]  # not centred
    display = TopPlaneDisplay.from_estimator(model, X, y, grid_resolution=7, n_averaged=400)
    vectors = model.preconditioner_.eigenvectors_[:, :2]
    grid = np.stack([display.xx0, display.xx1], axis=-1)
    expected = (grid - display.points.mean(axis=0)) @ (vectors.T @ slopes) + y.mean()
    np.testing.assert_allclose(display.response[..., 0], expected, atol=1e-6)
    assert len(display.points) == len(X)


def test_regions_of_classes_agree_with_the_data(data):
    X, y = data
    labels = np.array(["low", "middle", "high"])[np.digitize(y, [-0.7, 0.7])]
    model = JARFClassifier(n_estimators=20, random_state=0).fit(X, labels)
    display = TopPlaneDisplay.from_estimator(model, X, labels, grid_resolution=30)
    np.testing.assert_allclose(display.response.sum(axis=2), 1)
    # the point of the grid that is nearest to each row
    places = [
        np.abs(axis - points[:, None]).argmin(axis=1)
        for axis, points in zip((display.xx0[0], display.xx1[:, 0]), display.points.T, strict=True)
    ]
    region = model.classes_[display.response[places[1], places[0]].argmax(axis=1)]
    assert np.mean(region == labels) > 0.85
    drawn = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert drawn == ["high", "low", "middle"]
    assert "x0" in display.labels[0]


def test_without_labels_and_with_categories(mixed_table):
    X, y = mixed_table(200, 0)
    model = JacobianForestClassifier(5, geometry="sparse", random_state=0).fit(X, y > 0)
    display = TopPlaneDisplay.from_estimator(model, X, grid_resolution=8, n_averaged=3)
    assert display.response.shape == (8, 8, 2)
    assert display.ax_.get_legend() is None


def test_one_number_spans_no_plane():
    X = np.random.default_rng(0).normal(size=(50, 1))
    model = JARFRegressor(n_estimators=2, random_state=0).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="two numeric columns"):
        TopPlaneDisplay.from_estimator(model, X)
