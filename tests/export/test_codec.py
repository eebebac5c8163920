import json
import math

import numpy as np
import pytest
from scipy.sparse import csr_array

from jarf.export._codec import CannotWrite, Reader, Writer
from jarf.export._members import UnsoundFile


def refuse(name, state, budget):
    raise UnsoundFile(name)


def there_and_back(value):
    writer = Writer(lambda value: None)
    text = json.dumps(writer.encode(value), allow_nan=False)
    return Reader(writer.members, refuse).decode(json.loads(text))


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, 3, -1.5, 0.1 + 0.2, "text", [1, [2]], (1, ("a", None))),
        *(math.inf, {"a": 1, None: 2, 3.5: [4]}, b"\x00\xff", {}),
    ],
)
def test_plain_values(value):
    found = there_and_back(value)
    assert found == value
    assert type(found) is type(value)


def test_nan_and_infinity_survive():
    assert math.isnan(there_and_back(math.nan))


@pytest.mark.parametrize("dtype", ["bool", "int32", "int64", "uint8", "float32", "float64"])
def test_arrays_keep_their_bits_and_their_order(dtype):
    array = np.arange(12).reshape(3, 4).astype(dtype)
    for value in (array, np.asfortranarray(array), array[:, ::2], array[:0], array[0]):
        found = there_and_back(value)
        assert found.dtype == value.dtype
        np.testing.assert_array_equal(found, value)
    assert there_and_back(np.asfortranarray(array)).flags.f_contiguous


@pytest.mark.parametrize("dtype", [object, str])
def test_arrays_of_text(dtype):
    found = there_and_back(np.array(["a", "long text"], dtype=dtype))
    assert found.tolist() == ["a", "long text"]
    assert found.dtype.kind == np.dtype(dtype).kind


def test_an_array_that_is_held_twice_is_written_once():
    array = np.ones(5)
    writer = Writer(lambda value: None)
    text = writer.encode([array, array])
    assert len(writer.members) == 1
    one, two = Reader(writer.members, refuse).decode(text)
    assert one is two


def test_sparse_matrices():
    value = csr_array(np.array([[0, 1.5, 0], [2, 0, 0]]))
    np.testing.assert_array_equal(there_and_back(value).toarray(), value.toarray())


@pytest.mark.parametrize("place", [0, 1, 2, 3])
def test_sparse_matrices_that_point_outside_are_refused(place):
    writer = Writer(lambda value: None)
    parts = [np.ones(2), np.array([0, 1]), np.array([0, 1, 2]), [2, 2]]
    wrong = [np.ones(3), np.array([0, 7]), np.array([0, 9, 2]), [5, 2]]
    parts[place] = wrong[place]
    text = {"csr": [*map(writer.encode, parts[:3]), parts[3]]}
    with pytest.raises(UnsoundFile, match="points outside"):
        Reader(writer.members, refuse).decode(text)


@pytest.mark.parametrize("value", [object(), lambda: None, {1, 2}, np.array([1j]), [object()]])
def test_unsupported_values_are_refused(value):
    with pytest.raises(CannotWrite):
        there_and_back(value)


def test_arrays_of_objects_hold_scalars_only():
    with pytest.raises(UnsoundFile, match="more than scalars"):
        Reader({}, refuse).decode({"objects": [[1, 2]], "shape": [1]})
