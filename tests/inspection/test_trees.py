import numpy as np
import pytest

from jarf import JARFClassifier, JARFRegressor, SPORFClassifier
from jarf.inspection._trees import trees_of

RNG = np.random.default_rng(0)
# Few values, so that rows lie on thresholds.
X = RNG.normal(size=(300, 4)).round(1).astype(np.float32)
SCORE = X[:, 0] + X[:, 1]


@pytest.mark.parametrize("share", ["global", "per-tree"])
def test_normals_of_mapped_cuts_are_in_original_columns(share):
    model = JARFRegressor(n_estimators=3, share=share, random_state=0).fit(X, SCORE)
    trees = trees_of(model)
    normals = trees.normals()
    place = 0
    for linear, forest in trees.parts:
        inner, directions = forest.directions()
        shift = linear.transform(X[:5].astype(np.float64)) @ directions.T.toarray()
        base = linear.transform(np.zeros((1, 4))) @ directions.T.toarray()
        own = normals[place : place + len(inner)].toarray()
        np.testing.assert_allclose(X[:5] @ own.T, shift - base, atol=1e-5)
        place += len(inner)
    assert place == normals.shape[0]


def test_trees_are_numbered_through_the_parts():
    y = SCORE > 0
    model = JARFClassifier(n_estimators=3, share="per-tree", random_state=0).fit(X, y)
    trees = trees_of(model)
    assert trees.n_trees == 3
    assert trees.locate(2)[0] is trees.parts[2]
    forest = trees_of(SPORFClassifier(3, random_state=0).fit(X, y))
    assert forest.locate(2) == (forest.parts[0], 2)
