"""The parts of a docstring that all forests share, written once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

_Class = TypeVar("_Class", bound=type)

_LIMITS = """\
max_depth : int, default=None
    Maximum depth of a tree. None: no limit.
{split}
min_samples_leaf : int or float, default=1
    Minimum number of rows in a leaf, whatever their weights; a float is a fraction of the rows.
min_weight_fraction_leaf : float, default=0.0
    Minimum share of a tree's total weight in a leaf.
max_leaf_nodes : int, default=None
    Maximum number of leaves; the node with the largest gain is split next. None: no limit.
min_impurity_decrease : float, default=0.0
    Minimum decrease of impurity of a split, weighted by the node's share of the rows."""

_SPLIT = """\
min_samples_split : int or float, default=2
    A node of fewer rows is a leaf; a float is a fraction of the rows."""

_AUTOMATIC_SPLIT = """\
min_samples_split : int, float or "auto", default="auto"
    A node of fewer rows is a leaf; a float is a fraction of the rows. "auto": chosen by the race on
    its held-out rows; 2 without a race."""

_SAMPLING = """\
max_samples : int or float, default=None
    Rows drawn for each tree if ``bootstrap``. None: as many as there are; a float is a fraction.
oob_score : bool or callable, default=False
    Whether to compute the out-of-bag score. A callable ``score(y_true, y_pred)`` replaces {score}.
n_jobs : int, default=None
    Threads. The result does not depend on them.
random_state : int, RandomState instance or None, default=None
    Seeds the bootstrap and the candidates; every tree has its own stream.
verbose : int, default=0
    0: silent. 1: each stage of the fit with its time, and notes. 2: also the progress inside a
    stage, such as the number of trees grown. Written to stderr.
warm_start : bool, default=False
    Keep the trees of the last fit and grow more, up to ``n_estimators`` in total.
categorical_features : "from_dtype", None or array-like, default="from_dtype"
    Columns that are categories: those of text or category type in a DataFrame, none, or names,
    indices or a mask. Categories are never part of an oblique direction. A category of up to 50
    levels is encoded as one column per level, one of more levels by cross-fitted target means.
    Booleans and the columns that mark missing values are not part of directions either."""

_CLASS_WEIGHT = """\
class_weight : dict or "balanced", default=None
    Weights of the classes, multiplied by the weights of the rows."""

_CRITERION = """\
criterion : {{"gini", "entropy"}}, default="{criterion}"
    Measure of the quality of a split."""

_JARF = """\
preconditioner : JacobianPreconditioner, default=None
    How H is estimated: surrogate, probes, steps, gamma, number of components and so on. A copy of
    it is fitted. None: ``JacobianPreconditioner()``. If an object is passed, its parameters can be
    set like those of any nested estimator (``preconditioner__step`` in a grid search). Where it
    leaves ``n_jobs``, ``random_state`` or ``verbose`` at its default, that of this estimator is
    used; its ``categorical_features`` must be left at the default.
share : {"global", "per-tree"}, default="global"
    One H for all trees, or one per tree: the EJOP of tree b then averages the gradients over tree
    b's bootstrap sample (all share one surrogate). "per-tree" needs a final ensemble of
    bootstrapped trees: a random forest, scikit-learn's or ours.
n_estimators : int, default=200
    Trees of the default final forest; ignored if ``estimator`` is given.
min_weight_fraction_leaf : float, default=0.0
    Minimum share of the weight in a leaf of the default final forest; ignored if ``estimator`` is
    given.
categorical_features : "from_dtype", None or array-like, default="from_dtype"
    Columns that are categories: those of text or category type in a DataFrame, none, or names,
    indices or a mask. The preconditioner's ``categorical`` determines how H treats them.
n_jobs : int, default=None
    Threads for the surrogate, the gradients and the final ensemble, unless they set their own. The
    result does not depend on them.
random_state : int, RandomState instance or None, default=None
    Seeds the surrogate, the choice of probes and the final ensemble.
verbose : int, default=0
    0: silent. 1 or more: each stage of the fit with its time, written to stderr."""

_JARF_ATTRIBUTES = """\
preconditioner_ : JacobianPreconditioner
    Fitted: the EJOP, H, its spectrum and the surrogate are its attributes.
estimator_ : estimator
    The fitted final ensemble, in the coordinates of ``X H``.
feature_importances_ : ndarray of shape (n_features,)
    Importances of the original features.
table_ : TableEncoder
    How the columns became a float matrix, and which encoded column belongs to which.
stage_times_ : dict
    Seconds spent on "surrogate", "gradients" and "fit".
n_features_in_ : int
    Number of columns seen in fit.
feature_names_in_ : ndarray of shape (n_features,)
    Their names, where X had names."""

_BOOSTING = """\
learning_rate : float, "auto" or "fast", default="auto"
    Factor of the leaf values of each tree. The search for the number of rounds on held-out rows
    uses a rate up to three times as large (at most 0.1) and as many times fewer rounds. "auto" is
    0.03; with early stopping and at most 2,000 rows down to 0.01, if ``max_iter`` allows the
    additional rounds. "fast" is the same up to 1,000 rounds; if early stopping asks for more, the
    rate is raised to up to 0.09, and there are as many times fewer rounds.
max_iter : int, default=3000
    Maximum number of rounds; early stopping finds the number on held-out rows.
max_leaf_nodes : int or None, default=16
    Maximum number of leaves of a tree; the node with the largest gain is split next. None: no
    limit. Symmetric trees, in which one cut divides all nodes of a level, have at most
    ``max_leaf_nodes - 1`` cuts, and more leaves.
max_depth : int or None, default=6
    Maximum depth of a tree. None: no limit.
min_samples_leaf : int or "auto", default="auto"
    Minimum number of rows in a leaf, whatever their weights. "auto": 5, and 2 in symmetric trees.
l2_regularization : float, default=1.0
    Added to the sum of hessians of a leaf, which grows with the sample weights: weights far below
    one make leaves small.
max_features : float or "auto", default="auto"
    Share of the columns that a node tries as axes, drawn at random in every node. "auto": all, but
    at most 256 columns.
subsample : float, default=0.8
    Share of the rows that a tree sees, drawn at random in every round. With 1.0, a row of weight
    two counts exactly as two rows.
monotonic_cst : array-like of int, dict or None, default=None
    Monotone constraints, one number per column or a dict of column names: 1, the prediction may
    only increase with the column; -1, only decrease; 0, no constraint. Only numeric columns can be
    constrained; they are not part of directions. A missing value counts as smaller than all others.
    Missing values of other columns are filled from the row's numbers, constrained ones included:
    in such rows the prediction may also change through them. Needs two classes, or one response.
geometry : {"auto", "fast", ...}, Cycle, Geometry or list, default="auto"
    "auto" holds the race. "fast" skips it and takes the geometry that does best on average. A
    name of :data:`jarf.ensemble.CYCLES`, "axes" among them, or a :class:`jarf.ensemble.Cycle` or
    :class:`jarf.ensemble.Geometry` is taken as it is. A list of them holds a race between those
    and plain axes. In "symmetric" and some others, some rounds grow symmetric trees, but not under
    monotone constraints.
surrogate_rows : int or None, default=50_000
    Surrogates see at most this many random rows (and one of every class); None: all. Gradients
    are taken at every row, or at a random part of more than 8,000 rows.
categorical_features : "from_dtype", None or array-like, default="from_dtype"
    Columns that are categories: those of text or category type in a DataFrame, none, or names,
    indices or a mask. Categories are never part of an oblique direction. A category of up to 50
    levels is encoded as one column per level, one of more levels by cross-fitted target means.
    Booleans and the columns that mark missing values are not part of directions either.
early_stopping : "auto" or bool, default="auto"
    Whether to find the number of rounds on held-out rows; the final model is then fitted on all
    rows. "auto": if there are at least 20 rows. Smaller tables get at most 100 rounds.
scoring : str, callable or None, default="auto"
    The score for early stopping: "loss" (or None); "calibrated_loss", the log loss of a classifier
    after its probabilities were calibrated on the held-out rows, which allows for more rounds; the
    name of a scikit-learn scorer, or a scorer ``(estimator, X, y, sample_weight=...)``, which may
    use predictions only. "auto": "calibrated_loss" in classifiers with ``calibrate=True``, else
    "loss".
validation_fraction : float, default=0.2
    Share of the rows held out. Tables of fewer than 1,500 rows are held out in turn, in three
    folds; those of fewer than 500 rows in five.
n_iter_no_change : int, default=25
    Number of rounds without a better held-out score that end the search.
tol : float, default=1e-7
    A score must be better by more than this.
calibrate : bool, default=True
    Whether the held-out rows also give the temperature of the probabilities and the sets of
    ``predict_set`` (classifiers), or the errors for ``predict_interval`` and ``predict_quantiles``
    (regressors). Predicted classes and responses do not depend on it.
warm_start : bool, default=False
    Keep the trees of the last fit, their geometry and their number of rounds, and add rounds
    until there are ``max_iter``, without early stopping: the trees have seen all rows.
n_jobs : int, default=None
    Threads: folds and geometries of the race, surrogates, predictions, and the histograms of large
    nodes when a single booster grows. The result does not depend on them.
verbose : int, default=0
    0: silent. 1: each stage of the fit with its time, and notes. 2: also the rounds of the race and
    a line per tenth of the boosting rounds. Written to stderr.
random_state : int, RandomState instance or None, default=None
    Seeds the held-out rows, the surrogates and the random choices of each tree."""

_BOOSTING_ATTRIBUTES = """\
geometry_ : Cycle
    The geometries that the rounds use in turn.
race_ : RaceResult
    Which geometry won, by how much, and whether that is more than noise; print it. Set only if
    ``geometry`` is "auto" or a list.
n_iter_ : int
    The number of rounds.
learning_rate_ : float
    The learning rate of these rounds.
train_score_ : ndarray of shape (n_iter_+1,)
    Negative mean loss on the training rows, before the first round and after each. Responses are
    divided by their standard deviation first, except for "poisson" and "gamma".
validation_score_ : ndarray
    With early stopping: the same, or ``scoring``, on the held-out rows, for all rounds that were
    tried at the larger learning rate.
validation_rows_ : list of ndarray
    With early stopping: the numbers of the rows that were held out, one array per fold. Model files
    do not contain them or their predictions.
validation_predictions_ : ndarray of shape (n_held_out, n_outputs)
    Responses, or class probabilities before calibration, that boosters predicted for these rows
    without having seen them, fold by fold.
conformal_ : ConformalSets or ConformalResiduals
    What sets or intervals are computed from; not set if no rows were held out.
monotonic_cst_ : ndarray or None
    The constraint of every encoded column; None without constraints.
stage_times_ : dict
    Seconds spent on "race" or "early stopping", "surrogates" and "fit".
feature_importances_ : ndarray of shape (n_features,)
    Decrease of the loss, attributed to the original columns through the weights of the cuts.
forest_ : Forest
    The arrays of all trees, over the encoded columns of ``table_``.
table_ : TableEncoder
    How the columns became a float matrix, and which encoded column belongs to which.
n_features_in_ : int
    Number of columns seen in fit.
feature_names_in_ : ndarray of shape (n_features,)
    Their names, where X had names."""

_LABELS = """\
calibration_ : Calibration
    The temperature, and the log loss before and after on held-out rows; print it.
classes_ : ndarray of shape (n_classes,)
    The labels.
n_classes_ : int
    How many there are."""

_ATTRIBUTES = """\
feature_importances_ : ndarray of shape (n_features,)
    Mean decrease in impurity, attributed to the original columns through the weights of the cuts.
forest_ : Forest
    The arrays of all trees, over the encoded columns of ``table_``.
table_ : TableEncoder
    How the columns became a float matrix, and which encoded column belongs to which.
oob_score_ : float
    If ``oob_score``.
n_features_in_ : int
    Number of columns seen in fit.
feature_names_in_ : ndarray of shape (n_features,)
    Their names, where X had names."""

_CLASSIFIER_ATTRIBUTES = """\
classes_ : ndarray of shape (n_classes,)
    The labels.
n_classes_ : int
    How many there are.
oob_decision_function_ : ndarray of shape (n_samples, n_classes)
    If ``oob_score``: class probabilities from the trees that did not see the row."""

_REGRESSOR_ATTRIBUTES = """\
oob_prediction_ : ndarray of shape (n_samples,)
    If ``oob_score``: predictions from the trees that did not see the row."""


def documented(cls: _Class) -> _Class:
    """Replace the placeholders of a class docstring by shared text.

    They are <criterion>, <limits>, <sampling>, <attributes>, <boosting>, <boosting attributes>,
    <jarf> and <jarf attributes>.

    Only parameters that the class has are described, and only attributes that they can set.
    """
    classifies = cls.__name__.endswith("Classifier")
    default = vars(cls)["__init__"].__kwdefaults__
    split = _AUTOMATIC_SPLIT if default.get("min_samples_split") == "auto" else _SPLIT
    sampling = _SAMPLING.format(score="the accuracy" if classifies else "R2")
    sampling = f"{sampling}\n{_CLASS_WEIGHT}" if classifies else sampling
    attributes = (_CLASSIFIER_ATTRIBUTES if classifies else _REGRESSOR_ATTRIBUTES, _ATTRIBUTES)
    parts = {
        "<criterion>": _CRITERION.format(criterion=default.get("criterion")).splitlines(),
        "<limits>": _entries(_LIMITS.format(split=split), lambda name: name in default),
        "<sampling>": _entries(sampling, lambda name: name in default),
        "<jarf>": _entries(f"{_JARF}\n{_CLASS_WEIGHT}", lambda name: name in default),
        "<boosting>": _entries(f"{_BOOSTING}\n{_CLASS_WEIGHT}", lambda name: name in default),
        "<boosting attributes>": [
            *(_LABELS.splitlines() if classifies else []),
            *_BOOSTING_ATTRIBUTES.splitlines(),
        ],
        "<jarf attributes>": _JARF_ATTRIBUTES.splitlines(),
        "<attributes>": _entries(
            "\n".join(attributes), lambda name: "oob_score" in default or "oob" not in name
        ),
    }
    lines = []
    for line in (cls.__doc__ or "").splitlines():
        indent = line[: len(line) - len(line.lstrip())]
        text = parts.get(line.strip())
        lines += [line] if text is None else [(indent + part) for part in text]
    cls.__doc__ = "\n".join(lines)
    return cls


def _entries(text: str, keep: Callable[[str], bool]) -> list[str]:
    """Return the lines of the entries whose names are kept."""
    lines, kept = [], False
    for line in text.splitlines():
        if not line.startswith(" "):
            kept = keep(line.split(" :")[0])
        lines += [line] if kept else []
    return lines
