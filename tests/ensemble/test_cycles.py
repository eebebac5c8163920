"""Which geometries race in boosting, by what the user asked for."""

import pytest

from jarf.ensemble import CYCLES, Cycle, Geometry
from jarf.ensemble._cycles import AXES, racing_cycles

MINE = Geometry("mine", local=True)


def names(geometry, n_columns=10):
    return [cycle.name for cycle in racing_cycles(geometry, n_columns)]


@pytest.mark.parametrize("n_columns", [1, 49, 50, 1000])
def test_focused_axes_race_in_wide_tables_only(n_columns):
    default = names("auto", n_columns)
    assert default[0] == "symmetric"
    assert ("focused" in default) == (n_columns >= 50)


@pytest.mark.parametrize("name", list(CYCLES))
def test_a_named_geometry_is_used_without_a_race(name):
    assert racing_cycles(name, 10) == [CYCLES[name]]
    assert racing_cycles(CYCLES[name], 10) == [CYCLES[name]]


def test_fast_is_one_geometry_with_directions():
    [fast] = racing_cycles("fast", 10)
    assert not fast.is_plain


def test_a_geometry_becomes_a_cycle_of_its_name():
    assert racing_cycles(MINE, 10) == [Cycle("mine", (MINE,))]


def test_plain_axes_join_every_race_once():
    assert names(["linear", MINE]) == ["axes", "linear", "mine"]
    assert names(["linear", "axes"]) == names(["linear", AXES]) == ["axes", "linear"]


@pytest.mark.parametrize(
    ("geometry", "message"),
    [
        (["nothing"], "geometry holds 'nothing'"),
        ([3], "geometry holds 3"),
        (["linear", "linear"], "Two geometries of the race are called 'linear'"),
        ([MINE, Cycle("mine", (MINE,))], "Two geometries of the race are called 'mine'"),
    ],
)
def test_invalid_races_are_refused(geometry, message):
    with pytest.raises(ValueError, match=message):
        racing_cycles(geometry, 10)
