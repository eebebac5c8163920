import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from jarf.ensemble._geometries import PLAIN, Geometry
from jarf.ensemble._holdout import ScoredRows
from jarf.ensemble._race import (
    SHARPNESS,
    Pilot,
    row_gains,
    run_race,
    smooth_kappa,
)
from jarf.trees import NODE, Forest

OTHERS = [Geometry(f"g{i}", ("forest",)) for i in range(5)]


class FakePilot:
    """Scores as told, and counts what it was asked to grow."""

    def __init__(self, losses, probabilities=None, observed=None):
        self.answer, self.n_trees = losses, 0
        self.observed = np.zeros((len(losses), 1)) if observed is None else observed
        self.probabilities = self.observed if probabilities is None else probabilities
        self.classifies = self.observed.shape[1] > 1

    @property
    def means(self):
        return self.probabilities

    def advance(self, n_trees, n_jobs):
        self.n_trees += n_trees

    def losses(self):
        return self.answer


def race(levels, noise=0.0, n=500):
    rng = np.random.default_rng(0)
    base = rng.random(n)
    racers = [PLAIN, *OTHERS[: len(levels) - 1]]
    pilots = {
        racer.name: FakePilot(base + level + noise * rng.normal(size=n))
        for racer, level in zip(racers, levels, strict=True)
    }
    return run_race(
        racers, lambda geometry: [pilots[geometry.name]], ScoredRows(np.ones(n))
    ), pilots


def test_the_best_wins_and_losers_leave_early():
    result, pilots = race([1.0, 0.5, 0.9, 0.95, 0.97, 0.99], noise=0.01)
    assert result.winner == "g0"
    assert pilots["g0"].n_trees == pilots["axes"].n_trees > pilots["g4"].n_trees
    rows = {row["geometry"]: row for row in result.rows}
    assert rows["g0"]["gain"] == pytest.approx(0.5, abs=0.01)
    assert rows["axes"]["gain"] == 0
    assert "g0" in str(result)
    assert "*" in str(result)


def test_plain_axes_win_ties():
    result, _ = race([1.0, 1.0, 1.0])
    assert result.winner == "axes"


@pytest.mark.parametrize(
    ("gain", "winners"),
    [(-0.05, ("axes",)), (0.05, ("axes", "g0")), (0.1, ("axes", "g0")), (0.12, ("g0",))],
)
def test_a_gain_that_is_not_clear_is_shared_with_plain_axes(gain, winners):
    swing = np.tile([1.0, -1.0], 250)  # a standard error of 0.045
    losses = {"axes": np.ones(500), "g0": 1.0 - gain - swing}
    result = run_race(
        [PLAIN, OTHERS[0]],
        lambda geometry: [FakePilot(losses[geometry.name])],
        ScoredRows(np.ones(500)),
    )
    assert result.winners == winners


def test_sureness_is_no_skill():
    labels = np.arange(400) % 2
    named = np.where(np.arange(400) % 10 < 7, labels, 1 - labels)  # both are right as often
    hesitant, sure = (0.5 + c * (np.eye(2)[named] - 0.5) for c in (0.2, 0.9))
    gains = row_gains(sure, hesitant, np.eye(2)[labels], classifies=True)
    assert abs(gains.mean()) < 1e-3
    named[7:10] = labels[7:10]
    better = 0.5 + 0.2 * (np.eye(2)[named] - 0.5)
    assert row_gains(better, sure, np.eye(2)[labels], classifies=True).mean() > 1e-3


def test_weights_decide():
    losses = {"axes": np.array([0.0, 1.0]), "g0": np.array([1.0, 0.0])}
    for weights, winner in (([1.0, 1e-9], "axes"), ([1e-9, 1.0], "g0")):
        result = run_race(
            [PLAIN, OTHERS[0]],
            lambda geometry: [FakePilot(np.repeat(losses[geometry.name], 50))],
            ScoredRows(np.repeat(weights, 50)),
        )
        assert result.winner == winner


def test_racers_that_cannot_be_told_apart_share_the_forest():
    result, _ = race([1.0, 0.5, 0.5001, 0.9, 0.95], noise=0.1)
    assert set(result.winners) == {"g0", "g1"}
    assert result.winner == result.winners[0]
    assert race([1.0, 0.5, 0.6], noise=0.1)[0].winners == ("g0",)
    assert race([1.0, 1.01, 1.02], noise=0.1)[0].winners == ("axes",)


def test_kappa_has_the_last_word_between_classifiers():
    # g0 has the worse Brier score but names the right class, hesitantly; plain axes name the
    # wrong one as often as not, and are sure of it.
    n = 400
    observed = np.eye(2)[np.arange(n) % 2]
    hesitant = 0.5 + 0.1 * (observed - 0.5)
    sure = np.where(np.arange(n)[:, None] % 4 < 2, observed, 1.0 - observed)
    pilots = {
        "axes": FakePilot(np.full(n, 0.1), sure, observed),
        "g0": FakePilot(np.full(n, 0.2), hesitant, observed),
    }
    result = run_race([PLAIN, OTHERS[0]], lambda g: [pilots[g.name]], ScoredRows(np.ones(n)))
    assert result.winners == ("g0",)


def test_smooth_kappa_of_certain_forests_is_kappa():
    rng = np.random.default_rng(0)
    labels, answers = rng.integers(0, 3, 300), rng.integers(0, 3, 300)
    answers[:200] = labels[:200]
    weights = rng.integers(1, 4, 300)
    observed, named = np.eye(3)[labels], np.eye(3)[answers]
    found = np.average(smooth_kappa(named, observed, named, weights), weights=weights)
    agreement = np.average(labels == answers, weights=weights)
    shares = [np.average(x, axis=0, weights=weights) for x in (observed, named)]
    chance = shares[0] @ shares[1]
    kappa = cohen_kappa_score(labels, answers, sample_weight=weights)
    assert found == pytest.approx((agreement - (1 - kappa) * chance) / (1 - chance))
    better = named.copy()
    better[200:210] = observed[200:210]
    gain = np.average(
        smooth_kappa(better, observed, named, weights)
        - smooth_kappa(named, observed, named, weights),
        weights=weights,
    )
    true = cohen_kappa_score(labels, better.argmax(axis=1), sample_weight=weights) - kappa
    assert gain == pytest.approx(true, rel=0.1)
    assert SHARPNESS > 1


def test_pilots_estimate_the_loss_of_an_endless_forest():
    # Trees that answer 0.5 plus noise: an endless forest answers 0.5, whatever T.
    rng = np.random.default_rng(0)
    n, observed = 4000, np.zeros((4000, 1))

    def grow(n_trees):
        values = 0.5 + rng.normal(size=(n * n_trees, 1))
        forest = Forest.empty(1, 0)
        forest.values = values
        forest.nodes = np.zeros(n * n_trees, NODE)
        forest.nodes["left"] = np.arange(n * n_trees)
        forest.roots = (np.arange(n_trees) * n).astype(np.int32)
        forest.apply = lambda X, n_jobs: np.tile(np.arange(n)[:, None], (1, n_trees))
        return forest

    pilot = Pilot(grow, np.zeros((n, 1), np.float32), observed, n, classifies=False)
    for _ in range(2):
        pilot.advance(4, 1)
        assert pilot.losses().mean() == pytest.approx(0.25, abs=0.03)
