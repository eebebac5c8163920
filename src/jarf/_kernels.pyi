import numpy as np

class CheckedForest:
    def __init__(
        self, nodes: np.ndarray, roots: np.ndarray, values: np.ndarray, n_features: int
    ) -> None: ...

def tree_differences(
    forest: CheckedForest,
    centre: np.ndarray,
    upper: np.ndarray,
    lower: np.ndarray,
    output: np.ndarray,
    sums: np.ndarray,
) -> None: ...
