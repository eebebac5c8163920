"""The error for tree ensembles that cannot be read."""


class UnreadableTrees(ValueError):
    """Trees that cannot be read: dropped trees, splits on categories, unknown objectives."""
