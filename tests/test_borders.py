"""The border of the grower: what does not fit is rejected, never read past."""

import numpy as np
import pytest

kernels = pytest.importorskip("jarf._kernels")

ROWS = np.array([[0.0, 1.0, 2.0, 3.0], [5.0, 5.0, 6.0, 7.0]], np.float32)  # column after column
LABELS = np.array([0, 0, 1, 1], np.int32)
NOTHING = np.empty((0, 0), np.float32)
NO_PLACES = np.empty((0, 0), np.int32)
STEPS = np.array([[1.0], [1.0], [-1.0], [-1.0]])
ONES = np.ones((4, 1))
SIGNS = np.array([1, 0], np.int8)


def strided(array):
    """The same numbers, every second one in memory."""
    return np.repeat(array, 2, axis=-1)[..., ::2]


def bins(values=ROWS, **changed):
    arrays = {
        "codes": np.zeros((2, 4), np.uint8),
        "lowest": np.zeros((2, 256), np.float32),
        "highest": np.zeros((2, 256), np.float32),
        "n_bins": np.zeros(2, np.int32),
        **changed,
    }
    kernels.bin_columns(values, **arrays)
    return arrays


def columns(values=ROWS, **changed):
    return kernels.TrainingColumns(values, **{**bins(), **changed})


def axes():
    return kernels.Axes(2, np.empty(0))


def sparse_random(mean_size=1.0, scales=None, chances=()):
    scales = np.ones(2, np.float32) if scales is None else scales
    return kernels.SparseRandom(1, mean_size, scales, np.array(chances, float))


def nested(depth):
    """Axes within as many recipes, the innermost of which counts too."""
    proposal = axes()
    for level in range(depth - 1):
        kind = level % 2
        proposal = kernels.LargeNodes(1, proposal) if kind else kernels.Sequence([proposal])
    return proposal


def gini(labels=LABELS, n_classes=2):
    return kernels.Gini(labels, n_classes)


def squared(responses=((0.0,), (0.0,), (1.0,), (1.0,))):
    return kernels.SquaredError(np.array(responses))


def newton(gradients=STEPS, hessians=ONES, l2_regularization=0.0, min_hessian=0.0):
    return kernels.Newton(
        gradients, hessians, l2_regularization=l2_regularization, min_hessian=min_hessian
    )


def monotone(gradients=STEPS, hessians=ONES, monotonic=SIGNS):
    return kernels.MonotoneNewton(
        gradients, hessians, l2_regularization=0.0, min_hessian=0.0, monotonic=monotonic
    )


def limits(**changed):
    return kernels.Limits(**{"histogram_from": 1024, "sample_from": 1024, **changed})


def grow(**changed):
    arguments = {
        "columns": columns(),
        "proposal": axes(),
        "target": gini(),
        "weights": np.ones(4),
        "seed": 0,
        "limits": limits(),
        "keep_leaves": False,
        "stop": np.zeros(1, np.uint8),
        "n_threads": 1,
    }
    return kernels.grow_tree(**{**arguments, **changed})


def rotated(**changed):
    arrays = {
        "values": ROWS,
        "starts": np.array([0, 2, 3], np.int32),
        "features": np.array([0, 1, 1], np.int32),
        "loadings": np.ones(3, np.float32),
    }
    return kernels.RotatedColumns(**{**arrays, **changed})


def gradients(values=((1, 2),) * 4, features=NOTHING, n_features=2, places=()):
    return kernels.Gradients(
        *(np.array(values, np.float32), np.array(features, np.int32), n_features),
        np.array(places, np.int32),
    )


def draws(sources=None, spreads=(1, 1), n_candidates=2, n_rows=2, n_loadings=0, least=0.0):
    sources = [gradients()] if sources is None else sources
    return kernels.GradientDraws(
        sources, np.array(spreads, np.float32), n_candidates, n_rows, n_loadings, least
    )


def canonical(dsyev, chances=()):
    return kernels.CanonicalCorrelation(2, False, 0, 0, dsyev, np.array(chances, float))


def capsule(name):
    from scipy.linalg import cython_lapack

    return cython_lapack.__pyx_capi__[name]


TARGETS = {
    "Gini": gini,
    "Entropy": lambda: kernels.Entropy(LABELS, 2),
    "SquaredError": squared,
    "SquaredError of two": lambda: squared([[0, 1.0]] * 2 + [[1, 0.0]] * 2),
    "Newton": newton,
    "MonotoneNewton": monotone,
    "Newton of two": lambda: newton(np.repeat(STEPS, 2, 1), np.repeat(ONES, 2, 1), 1.0, 0.5),
}


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS.keys())
def test_targets_that_fit_grow_trees(target):
    words, weights, gains, *_, leaves, bounds = grow(target=target(), keep_leaves=True)
    nodes = words.reshape(-1, 4)
    assert nodes[0, 0] in (0, 1)
    assert weights.tolist() == [4, 2, 2]
    assert gains[0] > 0
    assert leaves.tolist() == [1, 1, 2, 2]
    assert len(bounds) in (0, 6)


def test_valid_arguments_pass():
    assert [len(array) for array in grow()[-2:]] == [0, 0]
    grow(columns=rotated())
    grow(columns=columns(codes=np.empty((0, 0), np.uint8)))
    grow(proposal=kernels.Sequence([axes(), draws(), canonical(capsule("dsyev"))]))
    grow(proposal=nested(16))
    grow(limits=limits(max_depth=None, max_leaf_nodes=None))


INT64 = np.int64
NAN, INF = np.nan, np.inf
HOSTILE = {
    "labels of 64 bits": lambda: gini(LABELS.astype(INT64)),
    "labels with a stride": lambda: gini(np.repeat(LABELS, 2)[::2]),
    "labels of two dimensions": lambda: gini(LABELS[:, None]),
    "labels of entropy of 64 bits": lambda: kernels.Entropy(LABELS.astype(INT64), 2),
    "a negative number of classes": lambda: gini(n_classes=-1),
    "responses of float32": lambda: squared(np.zeros((4, 1), np.float32)),
    "responses of one dimension": lambda: squared(np.zeros(4)),
    "responses with a stride": lambda: kernels.SquaredError(np.zeros((4, 2))[:, ::2]),
    "gradients of float32": lambda: newton(STEPS.astype(np.float32)),
    "gradients of one dimension": lambda: newton(STEPS[:, 0].copy()),
    "hessians with a stride": lambda: newton(hessians=np.ones((4, 2))[:, ::2]),
    "hessians that are none": lambda: newton(hessians=None),
    "monotonic of 64 bits": lambda: monotone(monotonic=SIGNS.astype(INT64)),
    "monotonic with a stride": lambda: monotone(monotonic=np.repeat(SIGNS, 2)[::2]),
    "monotonic of two dimensions": lambda: monotone(monotonic=SIGNS[:, None]),
    "monotonic that is none": lambda: monotone(monotonic=None),
    "monotone gradients of float32": lambda: monotone(STEPS.astype(np.float32)),
    "a penalty that is none": lambda: newton(l2_regularization=None),
    "limits by position": lambda: kernels.Limits(3),
    "limits without sizes": lambda: kernels.Limits(max_depth=3),
    "another limit": lambda: limits(max_leaves=3),
    "a negative depth": lambda: limits(max_depth=-1),
    "negative leaves": lambda: limits(min_samples_leaf=-1),
    "a fraction of rows": lambda: limits(min_samples_split=0.5),
    "weights of float32": lambda: grow(weights=np.ones(4, np.float32)),
    "weights with a stride": lambda: grow(weights=np.ones(8)[::2]),
    "a stop flag of another type": lambda: grow(stop=np.zeros(1)),
    "a seed below zero": lambda: grow(seed=-1),
    "no proposal": lambda: grow(proposal=None),
    "no target": lambda: grow(target=None),
    "a target that is an array": lambda: grow(target=LABELS),
    "limits that are a dict": lambda: grow(limits={"max_depth": 3}),
    "columns that are an array": lambda: grow(columns=ROWS),
    "matrix of float64": lambda: columns(ROWS.astype(float)),
    "matrix with a stride": lambda: columns(strided(ROWS)),
    "codes of 32 bits": lambda: columns(codes=np.zeros((2, 4), np.int32)),
    "limits of bins of float64": lambda: columns(lowest=bins()["lowest"].astype(float)),
    "numbers of bins of 64 bits": lambda: columns(n_bins=np.ones(2, INT64)),
    "a matrix to bin of float64": lambda: bins(ROWS.astype(float)),
    "codes to write of 32 bits": lambda: bins(codes=np.zeros((2, 4), np.int32)),
    "rotated matrix of float64": lambda: rotated(values=ROWS.astype(float)),
    "rotated starts of 64 bits": lambda: rotated(starts=np.array([0, 2, 3], INT64)),
    "chances that are a list": lambda: kernels.Axes(1, [1.0]),
    "scales of float64": lambda: sparse_random(scales=np.ones(2)),
    "an inner proposal that is none": lambda: kernels.LargeNodes(1, None),
    "gradients of a surrogate of float64": lambda: kernels.Gradients(np.ones((4, 2)), NO_PLACES, 2),
    "a proposal without a kind": lambda: kernels.Proposal(),
    "a target without a kind": lambda: kernels.Target(),
}


@pytest.mark.parametrize("call", HOSTILE.values(), ids=HOSTILE.keys())
def test_other_types_and_strides_are_refused(call):
    with pytest.raises(TypeError, match=r"incompatible function arguments|no constructor"):
        call()


REFUSED = {
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
    "codes to write too short": (lambda: bins(codes=np.zeros((2, 3), np.uint8)), "every column"),
    "bins to write too few": (lambda: bins(highest=np.zeros((2, 9), np.float32)), "every column"),
    "NaN to bin": (lambda: bins(np.full((2, 4), NAN, np.float32)), "must be finite"),
    "a label too few": (lambda: grow(target=gini(LABELS[:3].copy())), "one entry per row"),
    "a negative label": (lambda: gini(LABELS - 1), "between 0 and"),
    "a label beyond": (lambda: gini(LABELS + 1), "between 0 and"),
    "a label beyond of entropy": (lambda: kernels.Entropy(LABELS + 1, 2), "between 0 and"),
    "no classes": (lambda: gini(n_classes=0), "between 0 and"),
    "no responses": (lambda: squared(np.empty((4, 0))), "must be a response"),
    "a response too few": (lambda: grow(target=squared(np.zeros((3, 1)))), "one entry per row"),
    "responses that are NaN": (lambda: grow(target=squared(np.full((4, 1), NAN))), "NaN or too"),
    "responses too large": (lambda: grow(target=squared(np.full((4, 2), 1e200))), "responses are"),
    "no gradients": (lambda: newton(np.empty((4, 0)), np.empty((4, 0))), "must be an output"),
    "a gradient too few": (
        lambda: grow(target=newton(STEPS[:3], ONES[:3])),
        "one entry per row",
    ),
    "a hessian too few": (lambda: newton(hessians=ONES[:3]), "must have one shape"),
    "hessians of more outputs": (lambda: newton(hessians=np.ones((4, 2))), "must have one shape"),
    "a negative penalty": (lambda: newton(l2_regularization=-1.0), "l2_regularization"),
    "an infinite penalty": (lambda: newton(l2_regularization=INF), "l2_regularization"),
    "a least hessian of NaN": (lambda: newton(min_hessian=NAN), "min_hessian"),
    "gradients that are NaN": (lambda: grow(target=newton(STEPS * NAN)), "gradients are NaN"),
    "gradients too large": (lambda: grow(target=newton(STEPS * 1e200)), "gradients are NaN or too"),
    "steps too large": (lambda: grow(target=newton(STEPS * 1e150)), "small hessian"),
    "hessians that are NaN": (lambda: grow(target=newton(hessians=ONES * NAN)), "hessians are NaN"),
    "negative hessians": (lambda: grow(target=newton(hessians=-ONES)), "must not be negative"),
    "a sign of 2": (lambda: monotone(monotonic=SIGNS + 2), "monotonic must hold"),
    "a sign too few": (
        lambda: grow(target=monotone(monotonic=SIGNS[:1].copy())),
        "monotonic must have one entry per column",
    ),
    "signs of rotated columns": (
        lambda: grow(columns=rotated(), target=monotone()),
        "monotonic cannot hold on rotated columns",
    ),
    "signs of two outputs": (
        lambda: monotone(np.repeat(STEPS, 2, 1), np.repeat(ONES, 2, 1)),
        "monotonic is supported for one output",
    ),
    "a monotone hessian too few": (lambda: monotone(hessians=ONES[:3]), "must have one shape"),
    "monotone steps too large": (
        lambda: grow(target=monotone(STEPS * 1e130, ONES * 1e30)),
        "too large for monotonic",
    ),
    "a weight too many": (lambda: grow(weights=np.ones(5)), "weights must have one entry per row"),
    "a weight of NaN": (lambda: grow(weights=np.array([1, 1, NAN, 1])), "negative or NaN"),
    "a negative weight": (lambda: grow(weights=np.array([1.0, 1, -1, 1])), "negative or NaN"),
    "infinite weights": (lambda: grow(weights=np.full(4, INF)), "weights are too large"),
    "no weight": (lambda: grow(weights=np.zeros(4)), "above zero"),
    "two flags": (lambda: grow(stop=np.zeros(2, np.uint8)), "one flag"),
    "no threads": (lambda: grow(n_threads=0), "n_threads must lie between"),
    "leaves of no row": (lambda: limits(min_samples_leaf=0), "min_samples_leaf must be at least"),
    "no leaf": (lambda: limits(max_leaf_nodes=0), "max_leaf_nodes must be at least 1"),
    "a negative share": (lambda: limits(min_weight_fraction_leaf=-0.1), "between 0 and 1"),
    "a share above one": (lambda: limits(min_weight_fraction_leaf=1.5), "between 0 and 1"),
    "a share of NaN": (lambda: limits(min_weight_fraction_leaf=NAN), "between 0 and 1"),
    "a negative decrease": (lambda: limits(min_impurity_decrease=-1.0), "must not be negative"),
    "a decrease of NaN": (lambda: limits(min_impurity_decrease=NAN), "must not be negative"),
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
    "a rotated column of one twice": (
        lambda: rotated(features=np.ones(3, np.int32)),
        "names a column twice",
    ),
    "sums of rotated columns": (
        lambda: grow(columns=rotated(), proposal=sparse_random()),
        "only Axes",
    ),
    "a sequence over rotated columns": (
        lambda: grow(columns=rotated(), proposal=kernels.Sequence([axes()])),
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
    "drawn gradients that are NaN": (lambda: gradients([[NAN, 1]] * 4), "finite"),
    "places of other rows": (lambda: grow(proposal=draws([gradients(places=[0])])), "belong"),
    "a place beyond the gradients": (lambda: gradients(places=[0, -1, 4, 1]), "places"),
    "no loading large enough": (lambda: draws(least=1.0), "least"),
    "a negative share of loadings": (lambda: draws(least=-0.1), "least"),
    "a gradient's column beyond": (lambda: gradients(features=[[0, 2]] * 4), "not there"),
    "a gradient's negative column": (lambda: gradients(features=[[0, -1]] * 4), "not there"),
    "no source": (lambda: draws([]), "need a source"),
    "a source that is none": (lambda: draws([None]), "None"),
    "gradients without rows": (lambda: draws(n_rows=0), "at least one row"),
    "draws of other columns": (lambda: grow(proposal=draws(spreads=(1, 1, 1))), "belong"),
    "17 nested proposals": (lambda: nested(17), "nested more than 16 deep"),
    "100,000 nested proposals": (lambda: nested(100_000), "nested more than 16 deep"),
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
    words, *_ = grow(limits=limits(min_samples_leaf=2**63))
    assert len(words) == 4


def test_the_flag_stops_the_growth():
    values = np.random.default_rng(0).normal(size=(2, 50_000)).astype(np.float32)
    none = np.empty(0, np.int32)
    plain = kernels.TrainingColumns(values, np.empty((0, 0), np.uint8), NOTHING, NOTHING, none)
    labels = (np.arange(50_000) % 2).astype(np.int32)
    with pytest.raises(kernels.Stopped, match="was stopped"):
        grow(columns=plain, target=gini(labels), weights=np.ones(50_000), stop=np.ones(1, np.uint8))
