"""Hone's simulation: the paper's shape, and what the paper does not say."""

import pytest

from bench.backlog.goals import simulation_goals
from bench.backlog.simulated import Setting, simulate_all
from bench.backlog.simulation import LBF, PAPERS, SKIPPING, jains_index, poisson
from bench.backlog.tables import simulation_tables

SETTINGS = tuple(Setting(queues=queues, per_s=rate) for queues, rate in ((10, 500), (10, 950), (10, 2000), (30, 1000)))
CELLS = simulate_all(SETTINGS, seeds=2)


def test_lbf_has_never_a_larger_worst_backlog_than_round_robin_in_the_papers_setting() -> None:
    for cell in CELLS:
        for ours, skipping, papers in zip(*(cell.rounds[name] for name in (LBF, SKIPPING, PAPERS)), strict=True):
            assert ours.worst_backlog <= skipping.worst_backlog <= papers.worst_backlog


def test_average_delay_is_a_matter_of_wasted_slots_alone() -> None:
    for cell in CELLS:
        for ours, skipping, papers in zip(*(cell.rounds[name] for name in (LBF, SKIPPING, PAPERS)), strict=True):
            assert ours.delay_ms == pytest.approx(skipping.delay_ms)
            assert ours.delay_ms < papers.delay_ms


def test_the_papers_reductions_are_reached() -> None:
    assert all(goal.holds for goal in simulation_goals(CELLS))


def test_arrivals_have_the_rate_that_was_asked_for() -> None:
    arrived = sum(map(len, poisson(10, 1000, seed=1)))
    assert 9_500 < arrived < 10_500


def test_jains_index() -> None:
    assert jains_index([3, 3, 3], 3) == 1
    assert jains_index([9], 3) == pytest.approx(1 / 3)
    assert jains_index([], 3) == 1


def test_people_can_read_it() -> None:
    for table in simulation_tables(CELLS, 2):
        assert len(table.rows) == len(SETTINGS)
        assert {len(row) for row in table.rows} == {len(table.columns)}
