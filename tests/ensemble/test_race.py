import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from jarf import JacobianForestClassifier, JacobianForestRegressor
from jarf.ensemble import RaceResult
from jarf.ensemble._geometries import PLAIN, Geometry
from jarf.ensemble._holdout import ScoredRows
from jarf.ensemble._race import (
    SHARPNESS,
    Pilot,
    PlainForest,
    row_gains,
    run_race,
)
from jarf.trees import NODE, Forest

OTHERS = [Geometry(f"g{i}", ("forest",)) for i in range(5)]


class FakePilot:
    """A pilot with given scores that counts the trees it is asked to grow."""

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


def test_confidence_alone_does_not_win():
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


def test_racers_within_noise_share_the_forest():
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
    plain = PlainForest(named, observed, weights)
    found = np.average(plain.own, weights=weights)
    agreement = np.average(labels == answers, weights=weights)
    shares = [np.average(x, axis=0, weights=weights) for x in (observed, named)]
    chance = shares[0] @ shares[1]
    kappa = cohen_kappa_score(labels, answers, sample_weight=weights)
    assert found == pytest.approx((agreement - (1 - kappa) * chance) / (1 - chance))
    better = named.copy()
    better[200:210] = observed[200:210]
    gain = np.average(plain.smooth_kappa(better) - plain.own, weights=weights)
    true = cohen_kappa_score(labels, better.argmax(axis=1), sample_weight=weights) - kappa
    assert gain == pytest.approx(true, rel=0.1)
    assert SHARPNESS > 1


def test_pilots_estimate_the_loss_of_an_infinite_forest():
    # Trees that predict 0.5 plus noise: an infinite forest predicts 0.5, whatever T.
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


def row(geometry, gain=0.0, error=0.0, n_trees=32, loss=2.0):
    found = {"geometry": geometry, "loss": loss, "gain": gain, "standard_error": error}
    return {**found, "n_trees": n_trees, "seconds": 0.1}


def test_print_of_a_classifier_with_one_winner():
    rows = [row("axes"), row("g0", 0.05, 0.01), row("g1", -0.02, 0.01), row("g2", 0.06, 0.04, 8)]
    result = RaceResult(("g0",), rows, {2: 0.1, 5: 0.2}, 2, measure="kappa")
    assert str(result).splitlines() == [
        "'g0' won: kappa 0.0500 higher than plain axes on held-out rows, standard error 0.0100.",
        "That is more than 2.5 standard errors, so more than noise.",
        "All trees use 'g0'.",
        "min_samples_split = 2, chosen from 2 and 5 by the Brier score on the same rows.",
        "",
        "geometry  gain in kappa  standard error  outcome",
        "g0              +0.0500          0.0100  used",
        "axes           baseline                  not used",
        "g1              -0.0200          0.0100  finalist, not used",
        "g2              +0.0600          0.0400  eliminated after 8 trees",
        "",
        "Kappa is a smooth form of Cohen's kappa: 0 is chance level, 1 is perfect.",
        "Geometries eliminated early were scored with fewer trees; their gains are less precise.",
    ]


def test_print_of_a_regressor_that_shares_its_trees():
    rows = [row("axes"), row("g0", 0.5, 0.1), row("g1", 0.49, 0.1), row("g2", 0.4, 0.1)]
    result = RaceResult(("g0", "g1", "g2"), rows, measure="squared error")
    assert str(result).splitlines() == [
        "'g0' won: squared error 25.00 % lower than plain axes on held-out rows, "
        "standard error 5.00 %.",
        "That is more than 2.5 standard errors, so more than noise.",
        "The trees are shared by 'g0', 'g1' and 'g2': the others are within two standard errors "
        "of 'g0'.",
        "",
        "geometry  decrease of squared error  standard error  outcome",
        "g0                         +25.00 %          5.00 %  used",
        "g1                         +24.50 %          5.00 %  used",
        "g2                         +20.00 %          5.00 %  used",
        "axes                       baseline                  not used",
    ]
    # An estimate of the loss of an infinite forest may be zero or less: no share of it.
    result = RaceResult(("g0",), [row("axes", loss=0.0), *rows[1:]], measure="squared error")
    assert "squared error 0.5 lower" in str(result)


@pytest.mark.parametrize(
    ("gain", "winners", "found", "verdict", "used"),
    [
        (0.01, ("axes", "g0"), "higher", "it may be noise.", "the other is within two standard"),
        (-0.01, ("axes",), "lower", "No finalist was better", "All trees use 'axes'."),
    ],
)
def test_print_if_plain_axes_win(gain, winners, found, verdict, used):
    rows = [row("axes"), row("g0", gain, 0.02), row("g1", 0.2, 0.01, 8)]
    first, second, third, *_ = str(RaceResult(winners, rows, measure="kappa")).splitlines()
    assert first == (
        f"Plain axes ('axes') won. Best other finalist: 'g0', kappa 0.0100 {found} on held-out "
        "rows, standard error 0.0200."
    )
    assert verdict in second
    assert used in third


def test_print_if_all_other_geometries_were_eliminated_early():
    rows = [row("axes"), row("g0", -0.01, 0.02, 8)]
    text = str(RaceResult(("axes",), rows, measure="kappa"))
    assert text.startswith("Plain axes ('axes') won: all other geometries were eliminated early.")


def test_print_of_a_race_without_competitors_or_measure():
    assert "Only plain axes ('axes') took part." in str(RaceResult(("axes",), [row("axes")]))
    unknown = str(RaceResult(("g0",), [row("axes"), row("g0", 1.0, 0.1)], {2: 1.0}))
    assert "'g0' won: score 1.0000 higher" in unknown
    assert "by the loss on the same rows" in unknown


def test_notebooks_get_the_same_words_escaped():
    name = "<b>mine</b>"
    result = RaceResult((name,), [row("axes"), row(name, 0.05, 0.01)], measure="kappa")
    page = result._repr_html_()
    assert name not in page
    assert "<td>&lt;b&gt;mine&lt;/b&gt;</td><td>+0.0500</td><td>0.0100</td><td>used</td>" in page
    assert page.count("<tr>") == 3
    assert "<table>" not in RaceResult(("axes",), [])._repr_html_()


@pytest.mark.parametrize("estimator", [JacobianForestClassifier, JacobianForestRegressor])
def test_measure_of_a_fitted_forest(estimator):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    model = estimator(2, geometry=["linear"], random_state=0).fit(X, (X[:, 0] > 0).astype(int))
    classifies = estimator is JacobianForestClassifier
    assert model.race_.measure == ("kappa" if classifies else "squared error")
    assert ("gain in kappa" if classifies else "decrease of squared error") in str(model.race_)


@pytest.mark.parametrize(
    ("X", "reason"),
    [
        (np.arange(12.0)[:, None], "12 training rows are fewer than the 20 that a race needs"),
        (np.ones((30, 2)), "all 30 training rows are identical"),
    ],
)
def test_print_says_why_there_was_no_race(X, reason):
    model = JacobianForestClassifier(2, random_state=0).fit(X, np.arange(len(X)) % 2)
    first, second = str(model.race_).splitlines()
    assert first == f"No race was held: {reason}."
    assert second.startswith("All trees use 'axes'")
    assert "fewer than 20 training rows" in str(RaceResult(("axes",), []))  # of an older file
