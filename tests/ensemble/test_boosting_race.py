"""The race of boosting: stopping, heats and verdicts on known losses."""

from types import SimpleNamespace

import numpy as np
import pytest

from jarf.ensemble import CYCLES, Cycle, Geometry
from jarf.ensemble import _boosting_race as race
from jarf.ensemble._boosting_race import Racer, Stopping, choose, fold_error_scale
from jarf.ensemble._holdout import ScoredRows

N = 200
ROWS = ScoredRows.of(np.arange(N, dtype=np.float32)[:, None], np.ones(N))
NOISE = np.where(np.arange(N) % 2, 1.0, -1.0)


class Known:
    """A booster whose held-out losses are given."""

    def __init__(self, curve, spread=0.0):
        self.curve, self.spread = curve, spread
        self.scored_losses, self.stop = [curve(0)], np.zeros(1, np.uint8)
        self.scored = SimpleNamespace(y=np.zeros((N, 1)))

    @property
    def n_rounds(self):
        return len(self.scored_losses) - 1

    def advance(self, n_rounds):
        for _ in range(n_rounds):
            self.scored_losses.append(self.curve(self.n_rounds + 1))

    def losses_after(self, n_rounds):
        return self.curve(n_rounds) + self.spread * NOISE

    def raw_after(self, n_rounds):
        return np.zeros((N, 1))


def racer(name, least, best_at=40, spread=0.0):
    """One that is best after some rounds."""
    return Racer(
        CYCLES[name],
        [Known(lambda k: least + 1e-4 * (k - best_at) ** 2, spread)],
        np.ones(1),
    )


def stopping(max_iter=300, patience=20):
    return Stopping(max_iter, patience, 1e-7)


def test_stopping_waits_for_a_while():
    losses = np.array([5.0, 4.0, 3.0, 3.5, 3.4, 3.3])
    assert not Stopping(100, 3, 0.0).is_over(losses[:5])
    assert Stopping(100, 3, 0.0).is_over(losses)
    assert Stopping(5, 50, 0.0).is_over(losses)
    assert Stopping(100, 3, 0.0).best(losses) == 2
    assert Stopping(100, 3, 0.5).is_over(np.array([3.0, 2.9, 2.8, 2.7, 2.6]))


def test_one_alone_finds_its_number_of_rounds():
    chosen = choose([racer("mixed", 1.0)], ROWS, stopping(), "loss", 1)
    assert chosen.race is None
    assert chosen.n_rounds == 40
    assert np.argmin(chosen.losses) == 40
    assert len(chosen.losses) < 100


def test_a_clear_winner_is_chosen_and_the_worse_half_goes_early():
    racers = [
        racer("axes", 1.0, best_at=200),
        racer("linear", 0.9, best_at=200),
        racer("mixed", 0.5, best_at=200),
        racer("weighted", 2.0, best_at=200),
    ]
    chosen = choose(racers, ROWS, stopping(), "log loss", 1)
    assert chosen.cycle.name == "mixed"
    assert chosen.race.winner == "mixed"
    rounds = {row["geometry"]: row["n_trees"] for row in chosen.race.rows}
    assert rounds["weighted"] == race.HEATS[0]
    assert rounds["axes"] == race.HEATS[1] < rounds["mixed"]
    assert "log loss 16.89 % lower" in str(chosen.race)  # after the rounds of plain axes


def test_plain_axes_stay_unless_they_are_far_behind():
    racers = [racer("axes", 1.0, best_at=200), racer("mixed", 0.9, best_at=200, spread=1.0)]
    chosen = choose(racers, ROWS, stopping(), "log loss", 1)
    rounds = {row["geometry"]: row["n_trees"] for row in chosen.race.rows}
    assert rounds["axes"] == rounds["mixed"] > race.HEATS[1]


def test_plain_axes_win_ties_and_noise():
    same = [racer("axes", 1.0), racer("mixed", 1.0)]
    assert choose(same, ROWS, stopping(), "loss", 1).cycle.name == "axes"
    noisy = [racer("axes", 1.0), racer("mixed", 0.999, spread=5.0)]
    chosen = choose(noisy, ROWS, stopping(), "loss", 1)
    assert chosen.cycle.name == "axes"
    assert f"not more than {race.CLEAR:g} standard error" in str(chosen.race)


def test_a_slower_geometry_is_judged_at_its_own_best_round():
    racers = [racer("axes", 1.0, best_at=20), racer("mixed", 0.2, best_at=100)]
    chosen = choose(racers, ROWS, stopping(patience=60), "loss", 1)
    assert chosen.cycle.name == "mixed"
    assert chosen.n_rounds == 100


def test_splits_count_by_the_weight_of_their_rows():
    two = Racer(CYCLES["axes"], [Known(lambda k: 1.0), Known(lambda k: 4.0)], np.array([2.0, 1.0]))
    assert two.losses.tolist() == [2.0]


def test_an_error_stops_all_racers():
    racers = [racer("axes", 1.0), racer("mixed", 1.0)]

    def fail(n_rounds):
        raise RuntimeError("stopped")

    racers[0].runs[0].advance = fail
    with pytest.raises(RuntimeError, match="stopped"):
        race.advance(racers, 50, stopping(), 2)
    assert all(run.stop[0] for one in racers for run in one.runs)


def test_a_cycle_needs_geometries():
    with pytest.raises(ValueError, match="one or more"):
        Cycle("none", ())
    with pytest.raises(ValueError, match="Geometry"):
        Cycle("text", ("axes",))
    assert Cycle("a", (Geometry("own", ("own",), local=True),)).uses_own
    assert CYCLES["axes"].is_plain
    assert not CYCLES["mixed"].is_plain


def test_errors_of_folds_are_larger_than_those_of_the_final_model():
    assert fold_error_scale(1) == 1.0  # one split of a large table
    assert fold_error_scale(3) == pytest.approx((2 / 3) ** 0.35)
    assert fold_error_scale(3) < fold_error_scale(5) < 1.0
