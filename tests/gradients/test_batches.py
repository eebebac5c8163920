import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from jarf import JacobianPreconditioner, expected_jacobian_outer_product
from jarf.datasets import make_rotated_halfspace
from jarf.gradients import choose_rows, difference_steps, ejop_of_batches, learning_rows

X, y = make_rotated_halfspace(500, 4, angle=45, random_state=0)
MODEL = RandomForestClassifier(10, random_state=0).fit(X, y)
WHOLE = {"steps": difference_steps(X), "feature_range": (X.min(axis=0), X.max(axis=0))}
ONCE = expected_jacobian_outer_product(MODEL, X, y)


@pytest.fixture
def mapped_file(tmp_path):
    written = np.memmap(tmp_path / "rows", dtype=np.float64, mode="w+", shape=X.shape)
    written[:] = X
    written.flush()
    return np.memmap(tmp_path / "rows", dtype=np.float64, mode="r", shape=X.shape)


def slices(size):
    return [slice(start, start + size) for start in range(0, len(X), size)]


@pytest.mark.parametrize("size", [7, 250, 500])
def test_batches_of_a_mapped_file(mapped_file, size):
    batches = ((mapped_file[rows], y[rows]) for rows in slices(size))
    ejop = ejop_of_batches(MODEL, batches, **WHOLE)
    np.testing.assert_allclose(ejop.matrix, ONCE.matrix, rtol=1e-12, atol=1e-15)
    assert ejop.n_probes == 500


def test_a_mapped_file_in_one_piece(mapped_file):
    ejop = expected_jacobian_outer_product(MODEL, mapped_file, y)
    np.testing.assert_array_equal(ejop.matrix, ONCE.matrix)


def test_batches_of_a_parquet_file(tmp_path):
    pandas = pytest.importorskip("pandas")
    parquet = pytest.importorskip("pyarrow.parquet")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    frame.assign(target=y).to_parquet(tmp_path / "rows.parquet")

    def batches():
        file = parquet.ParquetFile(tmp_path / "rows.parquet")
        for batch in file.iter_batches(batch_size=130):
            rows = batch.to_pandas()
            yield rows[list("abcd")], rows["target"].to_numpy()

    ejop = ejop_of_batches(MODEL, ((X.to_numpy(), y) for X, y in batches()), **WHOLE)
    np.testing.assert_allclose(ejop.matrix, ONCE.matrix, rtol=1e-12, atol=1e-15)
    model = JacobianPreconditioner(random_state=0).fit(frame, y)
    mapped = list(model.transform_batches(rows for rows, _ in batches()))
    assert len(mapped) == 4
    np.testing.assert_allclose(np.concatenate(mapped), model.transform(frame))


def test_fit_and_transform_of_a_mapped_file(mapped_file):
    model = JacobianPreconditioner(random_state=0).fit(mapped_file, y)
    local = JacobianPreconditioner(random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.preconditioner_, local.preconditioner_)
    batches = (mapped_file[rows] for rows in [slice(0, 0), *slices(200)])
    mapped = np.concatenate(list(model.transform_batches(batches)))
    np.testing.assert_allclose(mapped, local.transform(X))


def test_weights_and_empty_batches():
    weights = np.random.default_rng(0).random(500)
    parts = [slice(0, 0), *slices(300)]
    ejop = ejop_of_batches(MODEL, [(X[p], y[p], weights[p]) for p in parts], **WHOLE)
    once = expected_jacobian_outer_product(MODEL, X, y, sample_weight=weights)
    np.testing.assert_allclose(ejop.matrix, once.matrix)
    with pytest.raises(ValueError, match="no rows"):
        ejop_of_batches(MODEL, [], **WHOLE)


def test_rows_are_chosen_in_bounded_memory():
    chosen = choose_rows(10**12, 1000, np.random.RandomState(0))
    assert len(np.unique(chosen)) == 1000
    assert (np.diff(chosen) > 0).all()
    assert chosen.max() > 0.9 * 10**12
    np.testing.assert_array_equal(choose_rows(5, 10, np.random.RandomState(0)), np.arange(5))


def test_learning_rows_hold_the_first_of_every_class():
    rng = np.random.RandomState(0)
    assert learning_rows(100, None, rng) is None
    assert learning_rows(100, 100, rng) is None
    rows = learning_rows(100, 10, rng, lambda: [3, 97])
    assert 10 <= len(rows) <= 12
    assert {3, 97} <= set(rows.tolist())


@pytest.mark.parametrize("surrogate_rows", [50, None])
def test_a_surrogate_of_few_rows_finds_the_direction(surrogate_rows):
    model = JacobianPreconditioner(surrogate_rows=surrogate_rows, n_probes=1.0, random_state=0)
    leading = model.fit(X, y).eigenvectors_[:, 0]
    assert model.ejop_.n_probes == 500
    assert abs(leading @ [0.5**0.5, 0.5**0.5, 0, 0]) > (0.8 if surrogate_rows else 0.95)
