"""The border of the compiled module: what does not fit is refused, never read past."""

import numpy as np
import pytest

kernels = pytest.importorskip("jarf._kernels")

ROWS = np.array([[0.0, 1.0, 2.0, 3.0], [5.0, 5.0, 6.0, 7.0]], np.float32)  # column after column
LABELS = np.array([0, 0, 1, 1], np.int32)
LEAF = (-1, 0, 0, 0)
CUT = (0, 0, 1, 2)
NOTHING = np.empty((0, 0), np.float32)


def strided(array):
    """The same numbers, every second one in memory."""
    return np.repeat(array, 2, axis=-1)[..., ::2]


def flipped(array):
    """The same shape, with a negative stride."""
    return array[::-1]


def bins():
    codes, n_bins = np.zeros((2, 4), np.uint8), np.zeros(2, np.int32)
    lowest, highest = np.zeros((2, 256), np.float32), np.zeros((2, 256), np.float32)
    kernels.bin_columns(ROWS, codes, lowest, highest, n_bins)
    return {"codes": codes, "lowest": lowest, "highest": highest, "n_bins": n_bins}


def columns(values=ROWS, **changed):
    return kernels.TrainingColumns(values, **{**bins(), **changed})


def axes():
    return kernels.Axes(2, np.empty(0))


def sparse_random(mean_size=1.0, scales=None, chances=()):
    scales = np.ones(2, np.float32) if scales is None else scales
    return kernels.SparseRandom(1, mean_size, scales, np.array(chances, float))


def grow(**changed):
    arguments = {
        "columns": columns(),
        "proposal": axes(),
        "criterion": 0,
        "labels": LABELS,
        "responses": np.empty(0),
        "n_classes": 2,
        "weights": np.ones(4),
        "seed": 0,
        "max_depth": 9,
        "max_leaves": 0,
        "min_split": 2,
        "min_leaf": 1,
        "min_leaf_weight": 0.0,
        "min_gain": 0.0,
        "histogram_from": 1024,
        "sample_from": 1024,
        "stop": np.zeros(1, np.uint8),
    }
    return kernels.grow_tree(**{**arguments, **changed})


def oblique(**changed):
    arrays = {
        "nodes": np.array([(-2, 0, 1, 2), LEAF, (-1, 0, 1, 1)], np.int32),
        "roots": np.zeros(1, np.int32),
        "starts": np.array([0, 2], np.int32),
        "features": np.array([0, 1], np.int32),
        "loadings": np.ones(2, np.float32),
        "values": np.eye(2),
        "n_pure": 2,
        "n_features": 2,
    }
    return kernels.CheckedObliqueForest(**{**arrays, **changed})


def predict(rows=None, skip=None, sums=None):
    rows = np.zeros((3, 2), np.float32) if rows is None else rows
    skip = np.empty((0, 0), np.uint8) if skip is None else skip
    kernels.add_predictions(oblique(), rows, skip, np.zeros((3, 2)) if sums is None else sums)


def packed(nodes=(CUT, LEAF, LEAF), roots=(0,), values=((0.0,),), n_features=2):
    return kernels.CheckedForest(
        np.array(nodes, np.int32).reshape(-1, 4),
        np.array(roots, np.int32),
        np.array(values, np.float64),
        n_features,
    )


def differences(output=(), **changed):
    rows = np.zeros((3, 2), np.float32)
    arrays = {"centre": rows, "upper": rows, "lower": rows, "sums": np.zeros((3, 1, 2))}
    arrays["output"] = np.array(output, np.int32)
    kernels.tree_differences(packed(), **{**arrays, **changed})


def rotated(**changed):
    arrays = {
        "values": ROWS,
        "starts": np.array([0, 2, 3], np.int32),
        "features": np.array([0, 1, 1], np.int32),
        "loadings": np.ones(3, np.float32),
    }
    return kernels.RotatedColumns(**{**arrays, **changed})


def gradients(values=((1, 2),) * 4, features=NOTHING, n_features=2):
    return kernels.Gradients(np.array(values, np.float32), np.array(features, np.int32), n_features)


def draws(sources=None, spreads=(1, 1), n_candidates=2, n_rows=2, n_loadings=0):
    sources = [gradients()] if sources is None else sources
    return kernels.GradientDraws(
        sources, np.array(spreads, np.float32), n_candidates, n_rows, n_loadings
    )


def canonical(dsyev, chances=()):
    return kernels.CanonicalCorrelation(2, False, 0, 0, dsyev, np.array(chances, float))


def capsule(name):
    from scipy.linalg import cython_lapack

    return cython_lapack.__pyx_capi__[name]


def outer(**changed):
    arrays = {"rows": np.ones((3, 2)), "weights": np.empty(0), "total": np.zeros((2, 2))}
    kernels.add_outer_products(**{**arrays, **changed})


def test_what_fits_passes():
    words, weights, *_ = grow()
    assert words.reshape(-1, 4)[0, 0] in (0, 1)
    assert weights[0] == 4
    predict()
    differences()
    differences(output=[0, 0, 0])
    grow(columns=rotated())
    outer()
    grow(proposal=kernels.Sequence([axes(), draws(), canonical(capsule("dsyev"))]))


INT64 = np.int64
NAN, INF = np.nan, np.inf
HOSTILE = {
    "nodes of 64 bits": lambda: oblique(nodes=np.array([LEAF], INT64)),
    "nodes of floats": lambda: oblique(nodes=np.array([LEAF], np.float32)),
    "nodes with a stride": lambda: oblique(nodes=strided(np.array([LEAF], np.int32))),
    "nodes of one dimension": lambda: oblique(nodes=np.array(LEAF, np.int32)),
    "nodes that are a list": lambda: oblique(nodes=[LEAF]),
    "roots that are none": lambda: oblique(roots=None),
    "values of float32": lambda: oblique(values=np.eye(2, dtype=np.float32)),
    "values in Fortran's order": lambda: oblique(values=np.asfortranarray(np.ones((3, 2)))),
    "a negative number of pure leaves": lambda: oblique(n_pure=-1),
    "rows of float64": lambda: predict(np.zeros((3, 2))),
    "rows with a stride": lambda: predict(strided(np.zeros((3, 2), np.float32))),
    "rows upside down": lambda: predict(flipped(np.zeros((3, 2), np.float32))),
    "sums of float32": lambda: predict(sums=np.zeros((3, 2), np.float32)),
    "sums that cannot be written": lambda: predict(sums=np.broadcast_to(0.0, (3, 2))),
    "labels of 64 bits": lambda: grow(labels=LABELS.astype(INT64)),
    "weights of float32": lambda: grow(weights=np.ones(4, np.float32)),
    "weights with a stride": lambda: grow(weights=np.ones(8)[::2]),
    "a stop flag of another type": lambda: grow(stop=np.zeros(1)),
    "a negative depth": lambda: grow(max_depth=-1),
    "a seed below zero": lambda: grow(seed=-1),
    "no proposal": lambda: grow(proposal=None),
    "columns that are an array": lambda: grow(columns=ROWS),
    "matrix of float64": lambda: columns(ROWS.astype(float)),
    "matrix with a stride": lambda: columns(strided(ROWS)),
    "codes of 32 bits": lambda: columns(codes=np.zeros((2, 4), np.int32)),
    "centre of float64": lambda: differences(centre=np.zeros((3, 2))),
    "upper with a stride": lambda: differences(upper=strided(np.zeros((3, 2), np.float32))),
    "chances that are a list": lambda: kernels.Axes(1, [1.0]),
    "scales of float64": lambda: sparse_random(scales=np.ones(2)),
    "an inner proposal that is none": lambda: kernels.LargeNodes(1, None),
    "outer products of float32": lambda: outer(rows=np.ones((3, 2), np.float32)),
    "a total that is a copy": lambda: outer(total=strided(np.zeros((2, 2)))),
}


@pytest.mark.parametrize("call", HOSTILE.values(), ids=HOSTILE.keys())
def test_other_types_and_strides_are_refused(call):
    with pytest.raises(TypeError, match="incompatible function arguments"):
        call()


REFUSED = {
    # trees that a walk would leave, or never end in
    "a node that is its own child": (lambda: packed([(0, 0, 0, 1), LEAF]), "earlier node"),
    "a cycle": (lambda: packed([CUT, (0, 0, 0, 2), LEAF]), "earlier node"),
    "a truncated tree": (lambda: packed([CUT, LEAF]), "outside the forest"),
    "a negative child": (lambda: packed([(0, 0, 1, -3), LEAF]), "outside the forest"),
    "a negative feature": (lambda: packed([(-2, 0, 1, 2), LEAF, LEAF]), "outside the forest"),
    "a feature beyond": (lambda: packed([(2, 0, 1, 2), LEAF, LEAF]), "outside the forest"),
    "a leaf without value": (lambda: packed([(-1, 0, 5, 5)]), "outside the forest"),
    "a leaf of negative value": (lambda: packed([(-1, 0, -1, -1)]), "outside the forest"),
    "a root beyond": (lambda: packed(roots=[3]), "root 0 lies outside"),
    "a negative root": (lambda: packed(roots=[-1]), "root 0 lies outside"),
    "no feature": (lambda: packed([LEAF], n_features=0), "at least one feature"),
    "values that are NaN": (lambda: packed(values=[[NAN]]), "must be finite"),
    "five words a node": (lambda: oblique(nodes=np.zeros((1, 5), np.int32)), "four 32-bit words"),
    "an oblique cycle": (
        lambda: oblique(nodes=np.array([(-2, 0, 1, 0), LEAF], np.int32)),
        "earlier node",
    ),
    "a projection beyond": (
        lambda: oblique(nodes=np.array([(-3, 0, 1, 2), LEAF, LEAF], np.int32)),
        "outside the forest",
    ),
    "roots that descend": (
        lambda: oblique(
            nodes=np.array([LEAF, (-2, 0, 2, 3), LEAF, LEAF], np.int32),
            roots=np.array([1, 0], np.int32),
        ),
        "roots must ascend",
    ),
    "a child in another tree": (
        lambda: oblique(
            nodes=np.array([(-2, 0, 1, 2), LEAF, LEAF], np.int32),
            roots=np.array([0, 2], np.int32),
        ),
        "another tree",
    ),
    "starts that end early": (lambda: oblique(starts=np.array([0, 1], np.int32)), "projection"),
    "starts that end late": (lambda: oblique(starts=np.array([0, 9], np.int32)), "projection"),
    "starts that fall": (lambda: oblique(starts=np.array([0, 3, 2], np.int32)), "projection"),
    "negative starts": (lambda: oblique(starts=np.array([-1, 2], np.int32)), "projection"),
    "no starts": (lambda: oblique(starts=np.empty(0, np.int32)), "starts must not be empty"),
    "a loading too few": (lambda: oblique(loadings=np.ones(1, np.float32)), "one length"),
    "a column beyond": (lambda: oblique(features=np.array([0, 2], np.int32)), "projection"),
    "a negative column": (lambda: oblique(features=np.array([0, -1], np.int32)), "projection"),
    "infinite leaves": (lambda: oblique(values=np.full((2, 2), INF)), "must be finite"),
    "too many pure leaves": (lambda: oblique(n_pure=3), "n_pure"),
    # rows, probes and what is written to
    "rows of another width": (lambda: predict(np.zeros((3, 3), np.float32)), "number of columns"),
    "sums too short": (lambda: predict(sums=np.zeros((2, 2))), "sums must have"),
    "sums too narrow": (lambda: predict(sums=np.zeros((3, 1))), "sums must have"),
    "skip too short": (lambda: predict(skip=np.zeros((1, 2), np.uint8)), "skip must have"),
    "skip with a stride": (lambda: predict(skip=strided(np.zeros((1, 3), np.uint8))), "side by"),
    "skip upside down": (lambda: predict(skip=flipped(np.zeros((3, 3), np.uint8))), "skip must"),
    "leaves too narrow": (
        lambda: kernels.find_leaves(
            oblique(), np.zeros((3, 2), np.float32), np.zeros((3, 0), INT64)
        ),
        "leaves must have",
    ),
    "probes of two shapes": (
        lambda: differences(upper=np.zeros((2, 2), np.float32)),
        "one shape",
    ),
    "an output too few": (lambda: differences(output=[0, 0]), "one output a row"),
    "an output beyond": (lambda: differences(output=[0, 1, 0]), "does not have"),
    "a negative output": (lambda: differences(output=[0, -1, 0]), "does not have"),
    "sums of another shape": (lambda: differences(sums=np.zeros((3, 2, 2))), "sums must have"),
    "a total of another size": (lambda: outer(total=np.zeros((3, 3))), "total must be"),
    "a weight too few": (lambda: outer(weights=np.ones(2)), "one a row"),
    # training data
    "no row": (lambda: columns(np.empty((2, 0), np.float32)), "must not be empty"),
    "NaN in the matrix": (lambda: columns(np.full((2, 4), NAN, np.float32)), "must be finite"),
    "codes of another shape": (lambda: columns(codes=np.zeros((1, 4), np.uint8)), "codes must"),
    "too few limits of bins": (lambda: columns(lowest=NOTHING), "every column"),
    "a code beyond the bins": (
        lambda: columns(codes=np.full((2, 4), 255, np.uint8)),
        "not there or not its own",
    ),
    "codes of other values": (
        lambda: columns(codes=bins()["codes"][:, ::-1].copy()),
        "not there or not its own",
    ),
    "bins that fall": (lambda: columns(lowest=-bins()["lowest"]), "ascend"),
    "300 bins": (lambda: columns(n_bins=np.full(2, 300, np.int32)), "between 1 and 256"),
    "no bins": (lambda: columns(n_bins=np.zeros(2, np.int32)), "between 1 and 256"),
    "the least number of bins": (
        lambda: columns(n_bins=np.full(2, np.iinfo(np.int32).min, np.int32)),
        "between 1 and 256",
    ),
    "a label too few": (lambda: grow(labels=LABELS[:3].copy()), "one entry a row"),
    "a negative label": (lambda: grow(labels=LABELS - 1), "between 0 and"),
    "a label beyond": (lambda: grow(labels=LABELS + 1), "between 0 and"),
    "no classes": (lambda: grow(n_classes=0), "between 0 and"),
    "another criterion": (lambda: grow(criterion=3), "criterion must"),
    "a negative criterion": (lambda: grow(criterion=-1), "criterion must"),
    "no responses": (lambda: grow(criterion=2), "one entry a row"),
    "responses that are NaN": (lambda: grow(criterion=2, responses=np.full(4, NAN)), "NaN or too"),
    "responses too large": (lambda: grow(criterion=2, responses=np.full(4, 1e200)), "too large"),
    "a weight of NaN": (lambda: grow(weights=np.array([1, 1, NAN, 1])), "negative or NaN"),
    "a negative weight": (lambda: grow(weights=np.array([1.0, 1, -1, 1])), "negative or NaN"),
    "infinite weights": (lambda: grow(weights=np.full(4, INF)), "weights are too large"),
    "no weight": (lambda: grow(weights=np.zeros(4)), "above zero"),
    "two flags": (lambda: grow(stop=np.zeros(2, np.uint8)), "one flag"),
    "leaves of no row": (lambda: grow(min_leaf=0), "at least 1"),
    "rotated starts that end late": (
        lambda: rotated(starts=np.array([0, 9], np.int32)),
        "projection",
    ),
    "no rotated column": (lambda: rotated(starts=np.zeros(1, np.int32)), "must be a projection"),
    "a rotated loading too few": (lambda: rotated(loadings=np.ones(2, np.float32)), "one length"),
    "a rotated column beyond": (lambda: rotated(features=np.full(3, 2, np.int32)), "projection"),
    "a rotated matrix with NaN": (
        lambda: rotated(values=np.full((2, 4), NAN, np.float32)),
        "finite",
    ),
    "sums of rotated columns": (
        lambda: grow(columns=rotated(), proposal=sparse_random()),
        "only Axes",
    ),
    # proposals
    "a negative chance": (lambda: kernels.Axes(1, np.array([1.0, -1.0])), "chances must"),
    "a chance of NaN": (lambda: kernels.Axes(1, np.array([NAN, 1.0])), "chances must"),
    "chances of other columns": (lambda: grow(proposal=kernels.Axes(1, np.ones(3))), "chances"),
    "a negative chance of a sum": (lambda: sparse_random(chances=[1, -1]), "chances must"),
    "sums of other columns": (lambda: grow(proposal=sparse_random(chances=[1])), "chances"),
    "too many candidates": (lambda: kernels.Axes(2**40, np.empty(0)), "n_candidates"),
    "a mean size of zero": (
        lambda: sparse_random(0.0),
        "mean_size",
    ),
    "an infinite scale": (
        lambda: sparse_random(scales=np.full(2, INF, np.float32)),
        "scales must",
    ),
    "scales of other columns": (
        lambda: grow(proposal=sparse_random(scales=np.ones(3, np.float32))),
        "scales must",
    ),
    "gradients of other rows": (lambda: grow(proposal=draws([gradients([[1, 2]])])), "belong"),
    "gradients of other columns": (lambda: gradients(n_features=3), "dense"),
    "gradients that are NaN": (lambda: gradients([[NAN, 1]] * 4), "finite"),
    "a gradient's column beyond": (lambda: gradients(features=[[0, 2]] * 4), "not there"),
    "a gradient's negative column": (lambda: gradients(features=[[0, -1]] * 4), "not there"),
    "no source": (lambda: draws([]), "need a source"),
    "a source that is none": (lambda: draws([None]), "None"),
    "an empty sequence": (lambda: kernels.Sequence([]), "at least one"),
    "a sequence of none": (lambda: kernels.Sequence([axes(), None]), "None"),
    "another function of LAPACK": (lambda: canonical(capsule("dgesv")), "another function"),
    "no capsule": (lambda: canonical(print), "must be a capsule"),
}


@pytest.mark.parametrize(("call", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_broken_arrays_are_refused_with_the_reason(call, reason):
    with pytest.raises(ValueError, match=reason):
        call()


def test_more_rows_in_a_leaf_than_there_are_is_one_leaf():
    words, *_ = grow(min_leaf=2**63)
    assert len(words) == 4
