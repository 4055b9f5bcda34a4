"""Leron's chain in virtual time: with the workers' own policies, help is worth what it can be, and r settles."""

import pytest

from bench.helping.plan import CALM, EQUAL, FLOODED, TABLE_1, Row
from bench.helping.simulated import simulate
from bench.helping.simulation import Simulation
from penstock.flow.watermarks import Marks


@pytest.mark.parametrize("row", [EQUAL, TABLE_1], ids=str)
def test_all_that_is_offered_passes_with_help_and_nobody_is_ever_stopped(row: Row) -> None:
    simulated = simulate(row, seconds=12.0)
    assert row.most is not None
    assert simulated.over_plain() == pytest.approx(row.most, rel=0.01)
    assert 0 < simulated.settling().helps < 20
    assert (simulated.settling().stops, simulated.settled_helps(), simulated.settled_stops()) == (0, 0, 0)
    assert 0.2 < simulated.ratio < 0.5


def test_without_help_the_slow_bolt_is_as_fast_as_it_can_be_and_others_are_stopped() -> None:
    *_, last = Simulation(EQUAL, is_helped=False, marks=Marks(), step=0.1).run(10.0)
    assert last.done / last.at_s == pytest.approx(250.0, rel=0.02)
    assert last.stops > 0
    assert (last.helps, last.ratio) == (0, 0.0)


def test_with_endless_input_help_is_worth_something_and_the_spout_is_stopped() -> None:
    simulated = simulate(FLOODED, seconds=12.0)
    assert simulated.over_plain() > 1.1
    assert simulated.settled_stops() > 0


def test_where_there_is_no_pressure_nobody_is_asked() -> None:
    *_, last = Simulation(CALM, is_helped=True, marks=Marks(), step=0.1).run(10.0)
    assert (last.helps, last.stops, last.ratio) == (0, 0, 0.0)
    assert last.done == pytest.approx(10.0 * CALM.offered_per_s, rel=0.01)


def test_it_is_the_same_each_time() -> None:
    runs = [list(Simulation(EQUAL, is_helped=True, marks=Marks(), step=0.1).run(3.0)) for _ in range(2)]
    assert runs[0] == runs[1]
