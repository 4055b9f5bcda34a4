"""What the moves benchmark counts, and what it makes of what was noted."""

from collections import Counter
from pathlib import Path

import msgspec
import pytest

from bench.moves.goals import goals
from bench.moves.journal import Journal, Output, read_journals
from bench.moves.ledger import Ledger, checked, read_counts
from bench.moves.lines import SPOUTS, Lines
from bench.moves.measured import Measured, Restarted, Steady, Stretch
from bench.moves.mover import Moved
from bench.moves.outputs import latencies_ms, longest_gap_ms
from bench.moves.tables import tables
from bench.moves.topology import moving_word_count
from bench.stats import Distribution
from penstock.testing import run_topology

MS = 1_000_000
LINES = Lines(words=250, lines_per_spout=5)


def output(arrived_ms: int, *, number: int = 0, counter: int = 0, due_ms: int = 0) -> Output:
    return Output(arrived_ms * MS, due_ms * MS, number, counter)


def test_every_word_comes_out_and_is_counted(tmp_path: Path) -> None:
    result = run_topology(moving_word_count(LINES, 1e6, str(tmp_path)), workers=2)
    assert result.failures == []
    outputs = read_journals(str(tmp_path))
    assert checked(LINES, outputs, read_counts(str(tmp_path))) == Ledger(
        outputs=40, lost_outputs=0, doubled_outputs=0, lost_counts=0, doubled_counts=0
    )
    assert all(0 < one.due_ns <= one.arrived_ns for one in outputs)
    assert len({one.counter for one in outputs}) > 1


@pytest.mark.parametrize("words", [1, 199, 200, 201, 10_000])
def test_the_first_lines_have_every_word_once(words: int) -> None:
    lines = Lines(words=words, lines_per_spout=0)
    there = [
        int(word)
        for spout in range(SPOUTS)
        for line in range(lines.first_lines)
        for word in lines.first(spout, line).split()
    ]
    assert sorted(there) == list(range(words))


def test_no_two_words_have_the_same_number() -> None:
    numbers = [number for spout in range(SPOUTS) for line in range(5) for number in LINES.numbers(spout, line)]
    assert sorted(numbers) == list(LINES.all_numbers())


def test_what_is_lost_or_doubled_is_counted() -> None:
    outputs = [output(1, number=number) for number in [*LINES.all_numbers()][1:]] + [output(2, number=7)] * 2
    counts = Counter(dict(LINES.counts()))
    counts[3] += 2
    counts[4] -= 1
    found = checked(LINES, outputs, counts)
    assert (found.lost_outputs, found.doubled_outputs) == (1, 2)
    assert (found.lost_counts, found.doubled_counts) == (1, 2)
    assert (found.lost, found.doubled) == (2, 4)


def test_outputs_of_all_lives_of_the_sink_are_read_by_arrival(tmp_path: Path) -> None:
    lives = [Journal(str(tmp_path)), Journal(str(tmp_path))]
    for number in range(10_000):
        lives[number % 2].note(number, number - 1, number % 3)
    for life in lives:
        life.close()
    outputs = read_journals(str(tmp_path))
    assert [one.number for one in outputs] == list(range(10_000))
    assert outputs[7][1:] == (6, 7, 1)


def test_counts_of_all_tasks_are_added(tmp_path: Path) -> None:
    for index, counts in enumerate(({"1": 2, "5": 1}, {"5": 3})):
        (tmp_path / f"counts-{index}").write_bytes(msgspec.msgpack.encode(counts))
    assert read_counts(str(tmp_path)) == {1: 2, 5: 4}


def test_one_task_does_not_hide_the_pause_of_another() -> None:
    outputs = sorted([output(at, counter=0) for at in range(0, 100, 2)] + [output(at, counter=1) for at in (5, 60, 90)])
    assert longest_gap_ms(outputs, [(0, 100 * MS)]) == 55
    assert longest_gap_ms(outputs, [(70 * MS, 100 * MS)]) == 30
    assert longest_gap_ms(outputs, []) == 0


def test_latency_counts_by_when_a_line_was_due() -> None:
    outputs = [output(30, due_ms=10), output(31, due_ms=30)]
    assert latencies_ms(outputs, [(5 * MS, 15 * MS)]) == [20]
    assert latencies_ms(outputs, [(0, 15 * MS), (20 * MS, 40 * MS)]) == [20, 1]


def stretch(gap_ms: float, p99_ms: float) -> Stretch:
    return Stretch(
        longest_gap_ms=gap_ms, latency_ms=Distribution(mean=1.0, p50=1.0, p99=p99_ms, p999=p99_ms, highest=p99_ms)
    )


RUN = Steady(
    case="local, at least once, 10,000 words",
    quiet=[stretch(20, 4), stretch(10, 2), stretch(5, 3)],
    moving=[stretch(30, 9), stretch(80, 6), stretch(5, 4)],
    near_moves_ms=Distribution(mean=1.0, p50=2.0, p99=9.0, p999=9.0, highest=9.0),
    moves=[Moved(task="count[1]", component="count", worker=2, begun_ns=0, done_ns=7 * MS)],
    ledger=Ledger(outputs=10, lost_outputs=0, doubled_outputs=0, lost_counts=0, doubled_counts=3),
)
MEASURED = Measured(steady=[RUN], restarted=[Restarted(case="local", gaps_s=[2.0, 4.0, 3.0])])


def test_goals_judge_the_worst_run() -> None:
    assert {goal.name: (goal.value, goal.holds) for goal in goals(MEASURED)} == {
        "longest_gap_between_outputs_with_moves_ms": (80, True),
        "p99_with_moves_over_quiet": (2.0, True),
        "lost": (0, True),
        "doubled": (3, False),
    }


def test_what_was_not_measured_does_not_hold() -> None:
    assert not any(goal.holds for goal in goals(Measured(steady=[], restarted=[])))


def test_tables_have_the_quiet_beside_the_moving() -> None:
    outputs, took, lost, restarts = tables(MEASURED)
    assert outputs.rows[0][1:4] == ("1", "20", "80")
    assert outputs.rows[0][6:9] == ("3 (2–4)", "6 (4–9)", "2")
    assert took.rows[0][1:] == ("-", "-", "7, 7", "-")
    assert lost.rows[0][1:] == ("10", "0", "0", "0", "3")
    assert restarts.rows == (("local", "3 (2–4)"),)
