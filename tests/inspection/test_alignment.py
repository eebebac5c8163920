import numpy as np
import pytest

from jarf import AxisForestClassifier, JacobianPreconditioner, JARFClassifier, SPORFClassifier
from jarf.inspection import AlignmentDisplay


@pytest.fixture(scope="module")
def data():
    X = np.random.default_rng(0).normal(size=(600, 4)) * [1, 50, 1, 1]
    return X, X[:, 0] + X[:, 1] / 50 > 0


def test_axis_cuts_have_the_known_alignment(data):
    """A cut along column j has s_1 = u_j^2, so the mean is that over the cuts."""
    X, y = data
    forest = AxisForestClassifier(5, random_state=0).fit(X, y)
    mapping = JacobianPreconditioner(random_state=0).fit(X, y)
    display = AlignmentDisplay.from_estimator(forest, preconditioner=mapping)
    columns = forest.split_normals().normals.indices
    np.testing.assert_allclose(
        display.mean[0], np.mean(mapping.eigenvectors_[columns, 0] ** 2), atol=1e-9
    )
    assert display.mean[-1] == pytest.approx(1)
    np.testing.assert_allclose(display.random, [0.25, 0.5, 0.75, 1])
    assert display.n_normals == len(columns)


def test_cuts_of_jarf_are_columns_of_h(data):
    X, y = data
    model = JARFClassifier(n_estimators=10, random_state=0).fit(X, y)
    display = AlignmentDisplay.from_estimator(model)
    mapping = model.preconditioner_
    columns = mapping.preconditioner_ / np.linalg.norm(mapping.preconditioner_, axis=0)
    cuts = model.estimator_.split_normals().normals.indices
    known = (mapping.eigenvectors_[:, 0] @ columns[:, cuts]) ** 2
    np.testing.assert_allclose(display.mean[0], known.mean())
    np.testing.assert_allclose(display.q75[0], np.quantile(known, 0.75))
    assert display.mean[0] > 1.5 * display.random[0]


def test_forests_share_axes(data):
    X, y = data
    mapping = JacobianPreconditioner(random_state=0).fit(X, y)
    forest = SPORFClassifier(3, random_state=0).fit(X, y)
    first = AlignmentDisplay.from_estimator(forest, preconditioner=mapping, name="one")
    second = AlignmentDisplay.from_estimator(forest, X, y, name="two", ax=first.ax_)
    labels = second.ax_.get_legend_handles_labels()[1]
    assert labels == ["one", "random directions: k / d", "two"]


def test_only_mixed_columns_count(mixed_table):
    X, y = mixed_table(300, 0)
    model = JARFClassifier(n_estimators=5, random_state=0).fit(X, y > 0)
    display = AlignmentDisplay.from_estimator(model, max_k=2)
    assert display.n_features == 3
    assert len(display.mean) == 2


def test_a_forest_without_cuts_is_refused(data):
    X, y = data
    mapping = JacobianPreconditioner(random_state=0).fit(X, y)
    forest = AxisForestClassifier(2, min_samples_split=10_000).fit(X, y)
    with pytest.raises(ValueError, match="no cuts"):
        AlignmentDisplay.from_estimator(forest, preconditioner=mapping)
