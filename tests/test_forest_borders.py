"""The border of fitted forests: what does not fit is rejected, never read past."""

from pathlib import Path

import numpy as np
import pytest

kernels = pytest.importorskip("jarf._kernels")

LEAF = (-1, 0, 0, 0)
CUT = (0, 0, 1, 2)
INT64 = np.int64
NAN, INF = np.nan, np.inf


def strided(array):
    """The same numbers, every second one in memory."""
    return np.repeat(array, 2, axis=-1)[..., ::2]


def flipped(array):
    """The same shape, with a negative stride."""
    return array[::-1]


def read_only(array):
    array.flags.writeable = False
    return array


def forest(**changed):
    """One oblique cut between two pure leaves."""
    arrays = {
        "nodes": [(-2, 0, 1, 2), LEAF, (-1, 0, 1, 1)],
        "roots": [0],
        "starts": [0, 2],
        "features": [0, 1],
        "loadings": np.ones(2, np.float32),
        "values": np.eye(2),
        "n_pure": 2,
        "n_features": 2,
    }
    arrays.update(changed)
    for name in ("nodes", "roots", "starts", "features"):
        if isinstance(arrays[name], list):
            arrays[name] = np.array(arrays[name], np.int32)
    return kernels.CheckedForest(**arrays)


def axis_forest(nodes=(CUT, LEAF, LEAF), roots=(0,), values=((0.0,),), n_features=2):
    return forest(
        nodes=np.array(nodes, np.int32).reshape(-1, 4),
        roots=list(roots),
        starts=[0],
        features=np.empty(0, np.int32),
        loadings=np.empty(0, np.float32),
        values=np.array(values, np.float64),
        n_pure=0,
        n_features=n_features,
    )


def predict(rows=None, skip=None, sums=None):
    rows = np.zeros((3, 2), np.float32) if rows is None else rows
    skip = np.empty((0, 0), np.uint8) if skip is None else skip
    kernels.add_predictions(forest(), rows, skip, np.zeros((3, 2)) if sums is None else sums)


def find_leaves(rows=None, leaves=None):
    rows = np.zeros((3, 2), np.float32) if rows is None else rows
    kernels.find_leaves(forest(), rows, np.zeros((3, 1), np.int64) if leaves is None else leaves)


def differences(output=(), **changed):
    """Signed differences; with ``below``, those of either side."""
    rows = np.zeros((3, 2), np.float32)
    arrays = {
        "centre": rows,
        "upper": rows,
        "lower": rows,
        "output": output if isinstance(output, np.ndarray) else np.array(output, np.int32),
        "above": np.zeros((3, 1 if len(output) else 2, 2)),
        "below": np.empty((0, 0, 0)),
        **changed,
    }
    kernels.tree_differences(forest(), **arrays)


def outer(**changed):
    arrays = {"rows": np.ones((3, 2)), "weights": np.empty(0), "total": np.zeros((2, 2))}
    kernels.add_outer_products(**{**arrays, **changed})


def by_group(**changed):
    arrays = {
        "values": np.ones((3, 2)),
        "weights": np.ones(3),
        "groups": np.array([0, 1, -1], np.int32),
        "total": np.zeros((2, 2)),
    }
    kernels.add_by_group(**{**arrays, **changed})


def test_valid_arguments_pass():
    by_group()
    predict()
    find_leaves()
    differences()
    differences(output=[0, 1, 0])
    differences(below=np.zeros((3, 2, 2)))
    differences(output=[0, 1, 0], below=np.zeros((3, 1, 2)))
    axis_forest()
    outer()


def test_every_bound_name_has_cases():
    """A new kernel needs its own cases, here or in test_borders.py."""
    files = ("test_borders.py", "test_forest_borders.py")
    text = "".join(Path(__file__).with_name(name).read_text(encoding="utf-8") for name in files)
    names = [name for name in dir(kernels) if not name.startswith("_")]
    assert [name for name in names if f"kernels.{name}" not in text] == []


HOSTILE = {
    "nodes of 64 bits": lambda: forest(nodes=np.array([LEAF], INT64)),
    "nodes of floats": lambda: forest(nodes=np.array([LEAF], np.float32)),
    "nodes with a stride": lambda: forest(nodes=strided(np.array([LEAF], np.int32))),
    "nodes of one dimension": lambda: forest(nodes=np.array(LEAF, np.int32)),
    "nodes that are a tuple": lambda: forest(nodes=(LEAF,)),
    "roots that are none": lambda: forest(roots=None),
    "roots of 64 bits": lambda: forest(roots=np.zeros(1, INT64)),
    "starts of 64 bits": lambda: forest(starts=np.array([0, 2], INT64)),
    "columns of 64 bits": lambda: forest(features=np.array([0, 1], INT64)),
    "loadings of float64": lambda: forest(loadings=np.ones(2)),
    "values of float32": lambda: forest(values=np.eye(2, dtype=np.float32)),
    "values in Fortran's order": lambda: forest(values=np.asfortranarray(np.ones((3, 2)))),
    "a negative number of pure leaves": lambda: forest(n_pure=-1),
    "a negative number of columns": lambda: forest(n_features=-1),
    "rows of float64": lambda: predict(np.zeros((3, 2))),
    "rows with a stride": lambda: predict(strided(np.zeros((3, 2), np.float32))),
    "rows upside down": lambda: predict(flipped(np.zeros((3, 2), np.float32))),
    "sums of float32": lambda: predict(sums=np.zeros((3, 2), np.float32)),
    "sums that cannot be written": lambda: predict(sums=np.broadcast_to(0.0, (3, 2))),
    "sums that are read only": lambda: predict(sums=read_only(np.zeros((3, 2)))),
    "skip of 32 bits": lambda: predict(skip=np.zeros((1, 3), np.int32)),
    "rows to apply of float64": lambda: find_leaves(np.zeros((3, 2))),
    "leaves of 32 bits": lambda: find_leaves(leaves=np.zeros((3, 1), np.int32)),
    "leaves with a stride": lambda: find_leaves(leaves=strided(np.zeros((3, 1), INT64))),
    "centre of float64": lambda: differences(centre=np.zeros((3, 2))),
    "upper with a stride": lambda: differences(upper=strided(np.zeros((3, 2), np.float32))),
    "outputs of 64 bits": lambda: differences(np.zeros(3, INT64)),
    "above of float32": lambda: differences(above=np.zeros((3, 2, 2), np.float32)),
    "above with a stride": lambda: differences(above=strided(np.zeros((3, 2, 2)))),
    "below that is read only": lambda: differences(below=read_only(np.zeros((3, 2, 2)))),
    "below of two dimensions": lambda: differences(below=np.zeros((3, 2))),
    "outer products of float32": lambda: outer(rows=np.ones((3, 2), np.float32)),
    "a total that is a copy": lambda: outer(total=strided(np.zeros((2, 2)))),
    "groups of int64": lambda: by_group(groups=np.zeros(3, np.int64)),
    "sums by group that are a copy": lambda: by_group(total=strided(np.zeros((2, 2)))),
}


@pytest.mark.parametrize("call", HOSTILE.values(), ids=HOSTILE.keys())
def test_other_types_and_strides_are_rejected(call):
    with pytest.raises(TypeError, match="incompatible function arguments"):
        call()


REFUSED = {
    # trees that a walk would leave, or never end in
    "a node that is its own child": (lambda: axis_forest([(0, 0, 0, 1), LEAF]), "earlier node"),
    "a cycle": (lambda: axis_forest([CUT, (0, 0, 0, 2), LEAF]), "earlier node"),
    "a truncated tree": (lambda: axis_forest([CUT, LEAF]), "outside its tree"),
    "a negative child": (lambda: axis_forest([(0, 0, 1, -3), LEAF]), "outside its tree"),
    "a projection of none": (lambda: axis_forest([(-2, 0, 1, 2), LEAF, LEAF]), "outside its tree"),
    "a feature beyond": (lambda: axis_forest([(2, 0, 1, 2), LEAF, LEAF]), "outside its tree"),
    "a leaf without value": (lambda: axis_forest([(-1, 0, 5, 5)]), "outside its tree"),
    "a leaf of negative value": (lambda: axis_forest([(-1, 0, -1, -1)]), "outside its tree"),
    "a root beyond": (lambda: axis_forest(roots=[0, 3]), "within the nodes"),
    "a first root beyond": (lambda: axis_forest(roots=[1]), "begin at node 0"),
    "a negative root": (lambda: axis_forest(roots=[-1]), "begin at node 0"),
    "roots that descend": (lambda: axis_forest([LEAF] * 3, roots=[0, 2, 1]), "must ascend"),
    "two roots that are one": (lambda: axis_forest([LEAF] * 2, roots=[0, 0]), "must ascend"),
    "nodes of no tree": (lambda: axis_forest(roots=[]), "begin at node 0"),
    "a tree of no nodes": (lambda: axis_forest([], values=[[0.0]]), "within the nodes"),
    "a child in another tree": (lambda: axis_forest(roots=[0, 2]), "outside its tree"),
    "no feature": (lambda: axis_forest([LEAF], n_features=0), "at least one feature"),
    "values that are NaN": (lambda: axis_forest(values=[[NAN]]), "must be finite"),
    "five words a node": (lambda: forest(nodes=np.zeros((1, 5), np.int32)), "four 32-bit words"),
    "an oblique cycle": (lambda: forest(nodes=[(-2, 0, 1, 0), LEAF]), "earlier node"),
    "a projection beyond": (lambda: forest(nodes=[(-3, 0, 1, 2), LEAF, LEAF]), "outside its tree"),
    "the least feature": (
        lambda: forest(nodes=[(-(2**31), 0, 1, 2), LEAF, LEAF]),
        "outside its tree",
    ),
    "starts that end early": (lambda: forest(starts=[0, 1]), "outside the columns"),
    "starts that end late": (lambda: forest(starts=[0, 9]), "outside the columns"),
    "starts that fall": (lambda: forest(starts=[0, 3, 2]), "outside the columns"),
    "negative starts": (lambda: forest(starts=[-1, 2]), "outside the columns"),
    "an empty projection": (lambda: forest(starts=[0, 0, 2]), "outside the columns"),
    "no starts": (lambda: forest(starts=np.empty(0, np.int32)), "starts must not be empty"),
    "a loading too few": (lambda: forest(loadings=np.ones(1, np.float32)), "one length"),
    "a column beyond": (lambda: forest(features=[0, 2]), "outside the columns"),
    "a negative column": (lambda: forest(features=[0, -1]), "outside the columns"),
    "a column twice": (lambda: forest(features=[1, 1]), "names a column twice"),
    "infinite leaves": (lambda: forest(values=np.full((2, 2), INF)), "must be finite"),
    "too many pure leaves": (lambda: forest(n_pure=3), "n_pure"),
    "pure leaves that are mixed": (lambda: forest(values=np.full((2, 2), 0.5)), "unit vectors"),
    # rows, probes and what is written to
    "rows of another width": (lambda: predict(np.zeros((3, 3), np.float32)), "number of columns"),
    "sums too short": (lambda: predict(sums=np.zeros((2, 2))), "sums must have"),
    "sums too narrow": (lambda: predict(sums=np.zeros((3, 1))), "sums must have"),
    "skip too short": (lambda: predict(skip=np.zeros((1, 2), np.uint8)), "skip must have"),
    "skip of other trees": (lambda: predict(skip=np.zeros((2, 3), np.uint8)), "skip must have"),
    "skip with a stride": (lambda: predict(skip=strided(np.zeros((1, 3), np.uint8))), "side by"),
    "skip upside down": (lambda: predict(skip=flipped(np.zeros((3, 3), np.uint8))), "skip must"),
    "rows to apply too wide": (lambda: find_leaves(np.zeros((3, 3), np.float32)), "of columns"),
    "leaves too narrow": (lambda: find_leaves(leaves=np.zeros((3, 0), INT64)), "leaves must have"),
    "leaves too short": (lambda: find_leaves(leaves=np.zeros((2, 1), INT64)), "leaves must have"),
    "a centre of another width": (
        lambda: differences(centre=np.zeros((3, 3), np.float32)),
        "centre must have",
    ),
    "probes of two shapes": (lambda: differences(upper=np.zeros((2, 2), np.float32)), "one shape"),
    "lower of another shape": (
        lambda: differences(lower=np.zeros((3, 1), np.float32)),
        "one shape",
    ),
    "an output too few": (lambda: differences(output=[0, 0]), "one output per row"),
    "an output beyond": (lambda: differences(output=[0, 2, 0]), "does not have"),
    "a negative output": (lambda: differences(output=[0, -1, 0]), "does not have"),
    "above too short": (lambda: differences(above=np.zeros((2, 2, 2))), "above and below must"),
    "above of one output": (lambda: differences(above=np.zeros((3, 1, 2))), "above and below must"),
    "above of all outputs": (
        lambda: differences(output=[0, 0, 0], above=np.zeros((3, 2, 2))),
        "above and below must",
    ),
    "below of another shape": (lambda: differences(below=np.zeros((3, 2, 1))), "above and below"),
    "below of one output": (lambda: differences(below=np.zeros((3, 1, 2))), "above and below must"),
    "a total of another size": (lambda: outer(total=np.zeros((3, 3))), "total must be"),
    "a weight too few": (lambda: outer(weights=np.ones(2)), "one entry per row"),
    "a group beyond the last": (lambda: by_group(groups=np.full(3, 2, np.int32)), "groups must be"),
    "a group too few": (lambda: by_group(groups=np.zeros(2, np.int32)), "one entry per row"),
    "sums of other columns": (lambda: by_group(total=np.zeros((2, 3))), "columns of values"),
}


@pytest.mark.parametrize(("call", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_broken_arrays_are_rejected_with_the_reason(call, reason):
    with pytest.raises(ValueError, match=reason):
        call()
