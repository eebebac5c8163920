"""The parts of a docstring that all forests share, written once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

_Class = TypeVar("_Class", bound=type)

_LIMITS = """\
max_depth : int, default=None
    The depth at which every node is a leaf. None: no limit.
{split}
min_samples_leaf : int or float, default=1
    The least number of rows in a leaf, whatever their weights; a float is a fraction.
min_weight_fraction_leaf : float, default=0.0
    The least share of a tree's weight in a leaf.
max_leaf_nodes : int, default=None
    With a number, the node that gains most is split next until there are this many leaves.
min_impurity_decrease : float, default=0.0
    A split must lower the impurity, weighted by the node's share, by at least so much."""

_SPLIT = """\
min_samples_split : int or float, default=2
    A node of fewer rows is a leaf; a float is a fraction of the rows."""

_AUTOMATIC_SPLIT = """\
min_samples_split : int, float or "auto", default="auto"
    A node of fewer rows is a leaf; a float is a fraction of the rows. "auto": what the winners of
    the race did best with on its held-out rows; 2 without a race."""

_SAMPLING = """\
max_samples : int or float, default=None
    Rows drawn for each tree if ``bootstrap``. None: as many as there are; a float is a fraction.
oob_score : bool or callable, default=False
    Whether to predict the rows that a tree's bootstrap left out. A callable
    ``score(y_true, y_pred)`` replaces {score}.
n_jobs : int, default=None
    Threads. The result does not depend on them.
random_state : int, RandomState instance or None, default=None
    Seeds the bootstrap and the candidates; every tree has its own stream.
verbose : int, default=0
    Positive: show each stage with its time, and a line for every tenth of the trees, on stderr.
warm_start : bool, default=False
    Keep the trees of the last fit and grow ``n_estimators`` in all.
categorical_features : "from_dtype", None or array-like, default="from_dtype"
    Columns that are categories: those of text or category type in a DataFrame, none, or names,
    indices or a mask. Categories are plain axes, never part of an oblique direction: one column
    a level up to 50 levels, cross-fitted target means beyond. The same holds for booleans and
    for the columns that hold missing numbers apart."""

_CLASS_WEIGHT = """\
class_weight : dict or "balanced", default=None
    Weights of the classes, multiplied with the rows' weights."""

_CRITERION = """\
criterion : {{"gini", "entropy"}}, default="{criterion}"
    What a split is judged by."""

_JARF = """\
preconditioner : JacobianPreconditioner, default=None
    How H is estimated: surrogate, probes, steps, gamma, number of components and so on. It is
    copied, not fitted itself. None: ``JacobianPreconditioner()``. Its parameters are set as
    those of any nested estimator (``preconditioner__step`` in a grid search), if an object was
    passed. Where it leaves ``n_jobs``, ``random_state`` or ``verbose`` at its default, that of
    this estimator is used; its ``categorical_features`` must be left at the default.
share : {"global", "per-tree"}, default="global"
    One H for all trees, or one for each: the EJOP of tree b then averages the gradients
    over tree b's bootstrap sample (one surrogate serves all). "per-tree" needs a final
    ensemble of bootstrapped trees: a random forest, scikit-learn's or ours.
n_estimators : int, default=200
    Trees of the default final forest; not used where ``estimator`` is given.
min_weight_fraction_leaf : float, default=0.0
    Least share of the weight in a leaf of the default final forest; not used where
    ``estimator`` is given.
categorical_features : "from_dtype", None or array-like, default="from_dtype"
    Columns that are categories: those of text or category type in a DataFrame, none, or names,
    indices or a mask. The preconditioner's ``categorical`` says what H does with them.
n_jobs : int, default=None
    Threads for the surrogate, the gradients and the final ensemble, where these set none
    themselves. The result does not depend on them.
random_state : int, RandomState instance or None, default=None
    Seeds the surrogate, the choice of probes and the final ensemble.
verbose : int, default=0
    Positive: show each stage and its time on stderr."""

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
learning_rate : float, default=0.03
    What each tree's leaves are multiplied with. While rows are held out, to find the number of
    rounds, steps are up to three times as large (at most 0.1) and rounds as many times fewer.
max_iter : int, default=3000
    The most rounds; with early stopping the number is found on rows held out.
max_leaf_nodes : int or None, default=16
    The most leaves of a tree: the node that gains most is split next. None: no limit.
max_depth : int or None, default=6
    The depth at which every node is a leaf. None: no limit.
min_samples_leaf : int, default=5
    The least number of rows in a leaf, whatever their weights.
l2_regularization : float, default=1.0
    Added to the sum of hessians of a leaf.
max_features : float, default=1.0
    Share of the columns that a node tries as axes, drawn anew in every node.
subsample : float, default=0.8
    Share of the rows that a tree sees, drawn anew in every round. With 1.0 a row of weight two
    counts exactly as two rows.
monotonic_cst : array-like of int, dict or None, default=None
    Constraints: 1, the prediction may only rise with a column; -1, only fall; 0, either. One
    number per column, or a dict of column names. Constrained columns are numbers and stay plain
    axes; two classes or one response only.
geometry : {"auto", "fast", ...}, Cycle, Geometry or list, default="auto"
    "auto" holds the race. "fast" skips it and takes the geometry that does best on average. A
    name of :data:`jarf.ensemble.CYCLES`, "axes" among them, or a :class:`jarf.ensemble.Cycle` or
    :class:`jarf.ensemble.Geometry` is taken as it is. A list of them holds a race between those
    and plain axes.
surrogate_rows : int or None, default=50_000
    Surrogates see at most this many random rows (and one of every class); None: all. Gradients
    are taken at every row.
categorical_features : "from_dtype", None or array-like, default="from_dtype"
    Columns that are categories: those of text or category type in a DataFrame, none, or names,
    indices or a mask. Categories are plain axes, never part of an oblique direction: one column
    a level up to 50 levels, cross-fitted target means beyond. The same holds for booleans and
    for the columns that hold missing numbers apart.
early_stopping : "auto" or bool, default="auto"
    Whether the number of rounds is found on rows held out; the final model then learns from all
    rows. "auto": from 20 rows on. Fewer rows get at most 100 rounds.
scoring : str, callable or None, default="loss"
    What early stopping looks at: "loss" (or None), the name of a scorer of scikit-learn, or a
    scorer ``(estimator, X, y, sample_weight=...)``, which may look at predictions only.
validation_fraction : float, default=0.2
    Share of the rows held out. Fewer than 1,500 rows are held out in turn, in three folds;
    fewer than 500 in five.
n_iter_no_change : int, default=25
    So many rounds without a better held-out score end the search.
tol : float, default=1e-7
    A score must be better by more than this.
warm_start : bool, default=False
    Keep the trees of the last fit, their geometry and their number of rounds, and add rounds
    until there are ``max_iter``, without early stopping: the trees have seen all rows.
n_jobs : int, default=None
    Threads: folds and geometries of the race, surrogates and predictions. The result does not
    depend on them.
verbose : int, default=0
    Positive: show the race, each stage with its time, and a line for every tenth of the rounds,
    on stderr.
random_state : int, RandomState instance or None, default=None
    Seeds the rows held out, the surrogates and what each tree draws."""

_BOOSTING_ATTRIBUTES = """\
geometry_ : Cycle
    What the rounds tried, in turn.
race_ : RaceResult
    Which geometry won, by how much, and whether that is more than noise; print it. Set only if
    ``geometry`` is "auto" or a list.
n_iter_ : int
    The number of rounds.
train_score_ : ndarray of shape (n_iter_ + 1,)
    Minus the mean loss on the training rows, before the first round and after each. Responses
    are divided by their standard deviation first, but for "poisson" and "gamma".
validation_score_ : ndarray
    With early stopping: the same, or ``scoring``, on the rows held out, for all rounds that were
    tried there.
monotonic_cst_ : ndarray or None
    The constraint of every encoded column; None without constraints.
stage_times_ : dict
    Seconds spent on "race" or "early stopping" and on "fit".
feature_importances_ : ndarray of shape (n_features,)
    Decrease of the loss, credited to the original columns through the cuts' weights.
forest_ : Forest
    The arrays of all trees, over the encoded columns of ``table_``.
table_ : TableEncoder
    How the columns became a float matrix, and which encoded column belongs to which.
n_features_in_ : int
    Number of columns seen in fit.
feature_names_in_ : ndarray of shape (n_features,)
    Their names, where X had names."""

_LABELS = """\
classes_ : ndarray of shape (n_classes,)
    The labels.
n_classes_ : int
    How many there are."""

_ATTRIBUTES = """\
feature_importances_ : ndarray of shape (n_features,)
    Decrease of impurity, credited to the original columns through the cuts' weights.
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
    """Fill the marks of a class docstring that stand for shared text.

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
    """The lines of those entries whose names are to be kept."""
    lines, kept = [], False
    for line in text.splitlines():
        if not line.startswith(" "):
            kept = keep(line.split(" :")[0])
        lines += [line] if kept else []
    return lines
