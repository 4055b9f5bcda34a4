"""Load over time, as people see it."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from penstock.control.load_records import Choice, HistoryPoint, RunRecord, Situation
from penstock.control.load_sample import LoadSample, PairRate, TaskShare
from penstock.plan.assignment import Assignment
from penstock.ui.load_view import load_view, sparkline, traffic_over_time
from tests.control.stage import EDGES, TASKS
from tests.control.test_schedule_generator import WORKERS

SITUATION = Situation(
    run=RunRecord(run="run-1", topology="[b]words", started_at_s=1000.0, heard_at_s=1060.0),
    sample=3,
    tasks=TASKS,
    edges=EDGES,
    pinned={},
    workers=WORKERS,
    assignment=None,
    estimate=LoadSample(),
    choice=Choice(),
)
HISTORY = [
    HistoryPoint(
        at_s=1020.0 + 20 * number,
        assignment=number,
        sample=LoadSample(
            tasks={1: TaskShare(cpu=0.25 * number, busy=1.0), 2: TaskShare(cpu=0.25, busy=1.0)},
            pairs={(0, 0, 1): PairRate(tuples=100, bytes=1), (1, 1, 3): PairRate(tuples=50, bytes=1)},
        ),
    )
    for number in range(3)
]
ASSIGNMENTS = {
    1: Assignment(number=1, worker_of={0: 0, 1: 1, 3: 1}),
    2: Assignment(number=2, worker_of={0: 0, 1: 0, 3: 0}),
}


@pytest.mark.parametrize(
    ("series", "drawn"),
    [([0.0, 0.0], "▁▁"), ([0.0, 4.0, 8.0], "▁▅█"), ([1.0], "█"), ([1.0] * 1000, "█" * 48)],
)
def test_a_line_of_bars_from_nothing_to_the_most(series: list[float], drawn: str) -> None:
    assert sparkline(series) == drawn


def test_load_by_component_and_traffic_by_distance() -> None:
    screen = io.StringIO()
    Console(file=screen, width=100).print(load_view(SITUATION, HISTORY, ASSIGNMENTS))
    text = screen.getvalue()
    assert "[b]words  run run-1  3 samples in 40 s" in text
    split = next(line.split() for line in text.splitlines() if "split" in line)
    assert split[-2:] == ["0.75", "0.75"]
    assert traffic_over_time(SITUATION, HISTORY, ASSIGNMENTS) == {
        "within workers": [0.0, 50.0, 150.0],
        "between workers of a node": [0.0, 0.0, 0.0],
        "between nodes": [0.0, 100.0, 0.0],
    }


def test_before_the_first_sample_there_is_nothing_to_draw() -> None:
    screen = io.StringIO()
    Console(file=screen, width=100).print(load_view(SITUATION, [], {}))
    assert "no load was sampled yet" in screen.getvalue()
