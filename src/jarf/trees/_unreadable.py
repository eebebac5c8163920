"""The error for tree ensembles that cannot be read."""


class UnreadableTrees(ValueError):
    """Trees that cannot be read: dropped trees, splits on categories, unknown objectives.

    Examples
    --------
    >>> from jarf.trees import UnreadableTrees, read_trees
    >>> from sklearn.linear_model import LinearRegression
    >>> try:
    ...     read_trees(LinearRegression())
    ... except UnreadableTrees as error:
    ...     print(str(error)[:41])
    The trees of LinearRegression cannot be r
    """
