"""One tree format, and all operations on trees that need no estimator.

``Target`` stands for :class:`ClassTarget` or :class:`ResponseTarget` in annotations.
"""

from jarf.trees._columns import Columns, make_columns, narrow, rotate_columns
from jarf.trees._differences import forest_differences
from jarf.trees._forest import NODE, Forest, GrownTree, SplitNormals, nodes_of_words
from jarf.trees._growing import (
    Limits,
    TreePlan,
    bootstrap_counts,
    grow_forest,
    grow_tree,
    grow_trees,
    small_stream,
    stream,
    tree_seeds,
)
from jarf.trees._links import LINKS, apply_link
from jarf.trees._monotone import ordered_values
from jarf.trees._readers import READERS, find_trees, read_trees
from jarf.trees._targets import ClassTarget, NewtonTarget, ResponseTarget
from jarf.trees._targets import Target as Target
from jarf.trees._unreadable import UnreadableTrees

__all__ = [
    "LINKS",
    "NODE",
    "READERS",
    "ClassTarget",
    "Columns",
    "Forest",
    "GrownTree",
    "Limits",
    "NewtonTarget",
    "ResponseTarget",
    "SplitNormals",
    "TreePlan",
    "UnreadableTrees",
    "apply_link",
    "bootstrap_counts",
    "find_trees",
    "forest_differences",
    "grow_forest",
    "grow_tree",
    "grow_trees",
    "make_columns",
    "narrow",
    "nodes_of_words",
    "ordered_values",
    "read_trees",
    "rotate_columns",
    "small_stream",
    "stream",
    "tree_seeds",
]
