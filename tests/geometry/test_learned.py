import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from jarf import EJOP, JacobianPreconditioner
from jarf.datasets import make_rotated_halfspace
from jarf.geometry import fit_preconditioner, learn, resampled_map
from jarf.table import encode_classes, fit_table, share_table

X, y = make_rotated_halfspace(300, 4, angle=45, random_state=0)
NAMES = np.array(["no", "yes"])[y]


def model(**params):
    return JacobianPreconditioner(LogisticRegression(), random_state=0, **params)


def on_table(made, table=X):
    fit_table(made, table, y, classifies=True, dtype=np.float64, order="C")
    return made


def test_fit_learns_differentiates_and_maps():
    whole = model().fit(X, NAMES)
    classes, codes = encode_classes(NAMES)
    learned = learn(on_table(model()), LogisticRegression(), X, codes, classes)
    ejop = learned.rescaled(learned.differentiation().ejop(X, learned.labels(codes)))
    np.testing.assert_allclose(ejop.matrix, whole.ejop_.matrix)
    linear = learned.map(ejop, gamma=1e-3, normalize=True)
    np.testing.assert_allclose(linear.transform(X), whole.transform(X))
    np.testing.assert_array_equal(whole.learned_.steps, learned.steps)
    few = learned.map(ejop, gamma=1e-3, normalize=True, n_components=2)
    assert few.transform(X).shape == (300, 2)


def test_gradients_at_other_rows_add_up():
    learned = model().fit(X, NAMES).learned_
    codes = np.searchsorted(learned.classes, NAMES)
    differentiation = learned.differentiation()
    whole = differentiation.ejop(X, codes)
    parts = [differentiation.ejop(X[s], codes[s]) for s in (slice(100), slice(100, None))]
    np.testing.assert_allclose((parts[0] + parts[1]).matrix, whole.matrix)


def test_a_frozen_surrogate_gets_labels_and_others_codes():
    frozen = FrozenEstimator(LogisticRegression().fit(X, NAMES))
    one = JacobianPreconditioner(frozen).fit(X, NAMES).learned_
    other = model().fit(X, NAMES).learned_
    assert (one.coded, one.standardised) == (False, False)
    assert (other.coded, other.standardised) == (True, True)
    assert one.labels(np.array([1, 0])).tolist() == ["yes", "no"]
    assert other.labels(np.array([1, 0])).tolist() == [1, 0]
    assert list(other.surrogate.classes_) == [0, 1]


def test_classes_without_weight_are_not_learned():
    labels = np.where(np.arange(300) < 30, "maybe", NAMES)
    weights = (labels != "maybe").astype(float)
    found = model().fit(X, labels, sample_weight=weights)
    assert found.classes_.tolist() == ["no", "yes"]
    assert list(found.surrogate_.classes_) == [0, 1]
    with pytest.raises(ValueError, match="only one class, 'yes'"):
        model().fit(X, NAMES, sample_weight=(NAMES == "yes").astype(float))


def test_a_map_of_a_sample_averages_the_gradients_of_its_probes():
    made = on_table(model(n_probes=50))
    classes, codes = encode_classes(y)
    rng = np.random.RandomState(0)
    surrogate = RandomForestClassifier(5)
    probes = fit_preconditioner(
        made, surrogate, X, codes, classes, random_state=rng, keep_gradients=True
    )
    assert made.ejop_.gradients is None
    assert probes.gradients.shape == (50, 1, 4)
    same = resampled_map(made, probes, np.ones(300))
    np.testing.assert_allclose(same.matrix, made.map_.matrix)
    counts = np.zeros(300)
    counts[probes.rows[7]] = 3.0
    gradient = probes.gradients[7, 0]
    alone = EJOP(np.outer(gradient, gradient), 1.0, 1)
    expected = made.learned_.map(alone, gamma=made.gamma, normalize=True)
    np.testing.assert_allclose(resampled_map(made, probes, counts).matrix, expected.matrix)
    elsewhere = np.ones(300)
    elsewhere[probes.rows] = 0
    assert resampled_map(made, probes, elsewhere) is made.map_


def test_a_shared_table_is_read_alike():
    fitted, other = on_table(model()), model()
    share_table(fitted, other)
    assert other.table_ is fitted.table_
    assert other.n_features_in_ == 4
    assert not hasattr(other, "feature_names_in_")


def test_a_preconditioner_of_numbers_has_no_classes():
    found = JacobianPreconditioner(random_state=0).fit(X, X[:, 0])
    assert not hasattr(found, "classes_")
    found.fit(X, NAMES)
    assert found.classes_.tolist() == ["no", "yes"]
    before = found.eigenvalues_
    assert not hasattr(found.fit(X, X[:, 0]), "classes_")
    assert not np.allclose(found.eigenvalues_, before)  # of the second fit
