import numpy as np
import pytest
from scipy.special import expit, softmax

from jarf.trees import LINKS, NODE, Forest, apply_link

RAW = np.random.default_rng(0).normal(size=(5, 3, 2))


def test_every_link_by_hand():
    np.testing.assert_array_equal(apply_link("identity", RAW), RAW)
    np.testing.assert_allclose(apply_link("log", RAW), np.exp(RAW))
    np.testing.assert_allclose(apply_link("softmax", RAW), softmax(RAW, axis=1))
    both = apply_link("logit", RAW[:, :1])
    np.testing.assert_allclose(both[:, 1], expit(RAW[:, 0]))
    np.testing.assert_allclose(both.sum(axis=1), 1)


@pytest.mark.parametrize("link", LINKS)
def test_a_forest_knows_how_many_outputs_its_link_has(link):
    n_raw = 1 if link == "logit" else 3
    leaf = np.array([(-1, 0, 0, 0)], NODE)
    forest = Forest.of_axes(leaf, [0], np.ones((1, n_raw)), 2, link=link, averaged=False)
    assert forest.predict(np.zeros((4, 2), np.float32)).shape == (4, forest.n_outputs)
    assert forest.n_outputs == (2 if link == "logit" else 3)


def test_unknown_links_and_bases_are_refused():
    leaf = np.array([(-1, 0, 0, 0)], NODE)
    with pytest.raises(ValueError, match="link must be one of"):
        Forest.of_axes(leaf, [0], np.ones((1, 1)), 2, link="probit")
    with pytest.raises(ValueError, match="link must be one of"):
        apply_link("probit", RAW)
    for base in (np.zeros(2), np.array([np.nan])):
        with pytest.raises(ValueError, match="one finite number per output"):
            Forest.of_axes(leaf, [0], np.ones((1, 1)), 2, base=base)
