"""The error of a tree ensemble whose format is known but not understood."""


class UnreadableTrees(ValueError):
    """Trees that cannot be read: dropped trees, splits on categories, unknown objectives."""
