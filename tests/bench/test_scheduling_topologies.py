"""The topologies of the scheduling benchmark, in one process: every tuple comes through, as often as it should."""

from collections.abc import Callable
from pathlib import Path

import pytest

import penstock as ps
from bench.scheduling.log_stream import log_line, log_stream
from bench.scheduling.sol import sol
from bench.scheduling.tap import Pace, Tap
from bench.scheduling.throughput_test import throughput_test
from bench.scheduling.word_count import word_count
from bench.wordcount.corpus import WORDS_PER_SENTENCE
from penstock.testing import run_topology

Build = Callable[[str, int | None], ps.Topology]
LIMIT = 6
MS = 1_000_000


@pytest.mark.parametrize(
    ("build", "processed"),
    [
        (throughput_test, {"identity": 5 * LIMIT, "counter": 5 * LIMIT}),
        (word_count, {"split": 2 * LIMIT, **dict.fromkeys(("count", "sink"), 2 * LIMIT * WORDS_PER_SENTENCE)}),
        (log_stream, dict.fromkeys(("rules", "indexer", "counter", "index-sink", "count-sink"), 5 * LIMIT)),
        (sol, {f"bolt-{number}": 5 * LIMIT for number in range(1, 6)}),
    ],
)
def test_every_tuple_comes_through(tmp_path: Path, build: Build, processed: dict[str, int]) -> None:
    tap = Tap(str(tmp_path))
    tap.turn(1e6)
    result = run_topology(build(tap.file, LIMIT), workers=2, delivery="at_most_once")
    assert result.failures == []
    assert {name: counts.processed for name, counts in result.counts.items() if name in processed} == processed


def test_components_have_as_many_tasks_as_in_the_papers(tmp_path: Path) -> None:
    tap = Tap(str(tmp_path))
    counts = {
        build: [spec.tasks for spec in build(tap.file, None).components.values()]
        for build in (throughput_test, word_count, log_stream, sol)
    }
    assert counts == {
        throughput_test: [5, 15, 15],
        word_count: [2, 5, 5, 5],
        log_stream: [5, 5, 5, 5, 2, 2],
        sol: [5] * 6,
    }


def test_a_log_line_is_the_same_each_time_and_others_are_others() -> None:
    assert log_line(7) == log_line(7)
    assert len({log_line(number) for number in range(100)}) == 100


def test_a_pace_follows_the_tap(tmp_path: Path) -> None:
    tap = Tap(str(tmp_path))
    pace = Pace(tap.file)
    assert pace.due(1000 * MS) == 0
    tap.turn(100.0)
    assert pace.due(1050 * MS) == 0  # it does not look so often
    assert [pace.due(now * MS) for now in (1100, 1105, 1110, 1135)] == [1, 0, 1, 2]
    tap.turn(0.0)
    assert pace.due(1300 * MS) == 0


def test_a_pace_forgets_what_it_could_not_emit_in_time(tmp_path: Path) -> None:
    tap = Tap(str(tmp_path))
    tap.turn(100.0)
    pace = Pace(tap.file)
    assert pace.due(0) == 1
    assert pace.due(10_000 * MS) == 11  # a tenth of a second's, and the one that is due now
    assert pace.due(10_001 * MS) == 0


def test_a_pace_never_gives_a_flood_at_once(tmp_path: Path) -> None:
    tap = Tap(str(tmp_path))
    tap.turn(1e6)
    pace = Pace(tap.file)
    assert pace.due(0) == 1
    assert [pace.due(MS), pace.due(MS)] == [64, 64]
