import numpy as np
import pytest

from jarf import JacobianForestClassifier, JacobianForestRegressor
from jarf.ensemble import Geometry
from jarf.ensemble import _tracks as tracks
from jarf.ensemble._cross_fit import gather
from jarf.ensemble._holdout import with_more_to_learn
from jarf.ensemble._sources import SOURCES

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("n_score", [5, 100])
def test_rows_that_are_not_scored_are_learned_from(n_score):
    X, score = RNG.normal(size=(60, 2)), RNG.permutation(60)[:20]
    learn, kept = with_more_to_learn(X, score, n_score)
    assert kept.tolist() == score[:n_score].tolist()
    assert sorted([*learn, *kept]) == list(range(60))


def test_copies_of_scored_rows_are_not_learned_from():
    X = np.repeat(np.arange(20.0), 3)[:, None]
    learn, kept = with_more_to_learn(X, np.arange(20, 50), 10)
    assert not set(X[learn, 0]) & set(X[kept, 0])
    assert len(learn) + len(kept) == 60 - 2  # the first and the last group were cut in two


def watched(monkeypatch):
    """Record the split and the labels of every forest that predicts held-out rows."""
    seen = []
    original = tracks.Track.__init__

    def remember(self, course, learn, score, fitted, name):
        original(self, course, learn, score, fitted, name)
        seen.append((name, set(learn), set(score), list(fitted)))

    monkeypatch.setattr(tracks.Track, "__init__", remember)
    return seen


@pytest.mark.parametrize(("n", "names"), [(300, 3), (1600, 2)])
def test_held_out_rows_are_unseen_and_need_no_new_surrogates(monkeypatch, n, names):
    seen, fits = watched(monkeypatch), []
    original = SOURCES["forest"]

    def fit(table, *rest):
        fits.append(set(table.rows))
        return original(table, *rest)

    monkeypatch.setitem(SOURCES, "forest", fit)
    X = RNG.normal(size=(n, 3)).astype(np.float32)
    y = X[:, 0] + X[:, 1]
    race = [Geometry("mine", ("forest",))]
    model = JacobianForestRegressor(5, geometry=race, random_state=0).fit(X, y)
    assert len(seen) == names
    for _, learn, score, _ in seen:
        assert not learn & score
    *raced, final = fits  # one per split of the race, and one of the forest
    assert len(final) == n
    for rows in raced:
        assert any(rows == learn for _, learn, _, _ in seen)
    if n == 1600:
        [rows], (_, learn, score, _) = raced, seen[-1]
        assert not rows & score
        assert len(learn) == n - n // 4
    assert len(model.conformal_.scores) == (n if n == 300 else n // 4)


def test_pilots_share_the_forest_that_predicts_their_rows():
    class Fixed:
        def __init__(self, value, n_trees):
            self.value, self.n_trees = value, n_trees

        def advance(self, n_trees, n_jobs):
            self.n_trees += n_trees

        def tree_answers(self, size):
            return np.full((4, self.n_trees, 2), float(self.value))

    pilots = [Fixed(1, 8), Fixed(4, 40)]
    means, spreads = tracks._answers(pilots, 31, 2, None)
    assert (pilots[0].n_trees, pilots[1].n_trees) == (16, 40)
    np.testing.assert_allclose(means, 2.5)
    np.testing.assert_allclose(spreads, 1.5)


def test_pruned_pilots_predict_as_the_forest_that_was_chosen(monkeypatch):
    # Labels are noise: pruned trees have the smaller log loss, before any temperature.
    X, y = RNG.normal(size=(400, 3)), RNG.integers(0, 2, 400)
    found = []
    for size in (2, 80):
        monkeypatch.setattr("jarf.ensemble._race.choose_size", lambda *_, s=size, **__: (s, {}))
        model = JacobianForestClassifier(60, geometry=["linear"], random_state=0).fit(X, y)
        assert model.min_samples_split_ == size
        found.append(model.calibration_.log_loss[0])
    assert found[1] < found[0] - 0.02


def test_nothing_is_gathered_from_no_split():
    assert gather([], np.zeros((3, 1)), np.ones(3)) is None
