import numpy as np
import pytest

from jarf._native import kernels

LEAF = (-1, 0, 0, -1)


def checked(nodes, roots=(0,), values=((0.0,),), n_features=2):
    module = pytest.importorskip("jarf._kernels")
    return module.CheckedForest(
        np.array(nodes, dtype=np.int32).reshape(-1, 4),
        np.array(roots, dtype=np.int32),
        np.array(values, dtype=np.float64),
        n_features,
    )


@pytest.mark.parametrize("value", ["1", "true"])
def test_variable_sends_to_the_reference_path(monkeypatch, value):
    monkeypatch.setenv("JARF_NO_NATIVE", value)
    assert kernels() is None


@pytest.mark.parametrize("value", ["", "0"])
def test_native_by_default(monkeypatch, value):
    monkeypatch.setenv("JARF_NO_NATIVE", value)
    assert kernels().__name__ == "jarf._kernels"


@pytest.mark.parametrize(
    ("nodes", "roots"),
    [
        ([(0, 0, 0, 1), LEAF], [0]),  # a node that is its own child
        ([(0, 0, 1, 2), (0, 0, 0, 2), LEAF], [0]),  # a child that points back
        ([(0, 0, 1, 9), LEAF], [0]),  # truncated
        ([(0, 0, 1, -3), LEAF], [0]),  # negative child
        ([(2, 0, 1, 2), LEAF, LEAF], [0]),  # a feature the rows do not have
        ([(-1, 0, 5, -1)], [0]),  # a leaf without value
        ([LEAF], [3]),  # root outside
        ([LEAF], [-1]),
    ],
)
def test_broken_trees_are_refused(nodes, roots):
    with pytest.raises(ValueError, match=r"outside|back"):
        checked(nodes, roots)


def test_wrong_shapes_and_types_are_refused():
    module = pytest.importorskip("jarf._kernels")
    forest = checked([LEAF])
    rows = np.zeros((3, 2), dtype=np.float32)
    none = np.empty(0, dtype=np.int32)
    fine = np.zeros((3, 1, 2))
    module.tree_differences(forest, rows, rows, rows, none, fine)
    with pytest.raises(ValueError, match="one shape"):
        module.tree_differences(forest, rows, rows[:2], rows, none, fine)
    with pytest.raises(ValueError, match="as many columns"):
        module.tree_differences(forest, rows[:, :1].copy(), rows, rows, none, fine)
    with pytest.raises(ValueError, match="sums"):
        module.tree_differences(forest, rows, rows, rows, none, np.zeros((2, 1, 2)))
    with pytest.raises(ValueError, match="one output a row"):
        module.tree_differences(forest, rows, rows, rows, np.zeros(2, np.int32), fine)
    with pytest.raises(ValueError, match="does not have"):
        module.tree_differences(forest, rows, rows, rows, np.full(3, 1, np.int32), fine)
    with pytest.raises(TypeError):
        module.tree_differences(forest, rows, rows, rows, none, fine.astype(np.float32))
    with pytest.raises(TypeError):
        module.tree_differences(forest, rows, rows, rows, none, np.zeros((3, 1, 4))[:, :, ::2])
