import socket
from collections.abc import Iterator
from pathlib import Path

from bench.paths.arrivals import note, noted, sent_between
from bench.paths.measured import Measured, Round
from bench.paths.paths import WAYS
from bench.paths.sender import sender
from bench.paths.tables import tables
from bench.paths.topology import Count, LineSpout, NotingCount, Parse
from penstock.testing import BoltTester
from penstock.topology.context import TaskContext


def test_what_is_noted_is_found(tmp_path: Path) -> None:
    assert noted(str(tmp_path)) == {}
    note(str(tmp_path), ["sent_ns=5 n=0", "sent_ns=7 n=1 begun_ms=3"])
    note(str(tmp_path), ["sent_ns=5 n=0"])
    found = noted(str(tmp_path))
    assert {number: stamps["sent_ns"] for number, stamps in found.items()} == {0: 5, 1: 7}
    assert found[1]["begun_ms"] == 3
    assert found[0]["arrived_ns"] == found[1]["arrived_ns"], "the first time counts"


def lines(*numbers: int) -> dict[int, dict[str, int]]:
    return {number: {"sent_ns": number * 10, "n": number, "arrived_ns": number * 10 + 3_000_000} for number in numbers}


def test_a_time_is_measured_when_nothing_of_it_is_on_its_way() -> None:
    assert sent_between(lines(0, 1, 2), 10, 30) is None, "perhaps there is another"
    assert sent_between(lines(0, 1, 3, 4), 10, 40) is None, "2 is missing"
    assert sent_between(lines(0, 1, 2, 3), 10, 30) == [*lines(1, 2).values()]


def test_a_round_is_split_by_the_stamps_that_there_are() -> None:
    stamps = {"sent_ns": 1_000_000, "n": 0, "begun_ms": 3, "computed_ms": 7, "arrived_ns": 15_000_000}
    batches = [{"numInputRows": 1, "durationMs": {"addBatch": 4}}, {"numInputRows": 0, "durationMs": {"addBatch": 9}}]
    one = Round.of([stamps], batches)
    assert (one.p50, one.p99, one.lines) == (14.0, 14.0, 1)
    assert one.stages == {"micro-batch begun": 2.0, "row computed by Spark": 4.0, "at the last operator": 8.0}
    assert one.durations["addBatch"] == 4


def test_the_tables_have_a_row_for_each_way() -> None:
    batches = [{"numInputRows": 1, "durationMs": {}}]
    one = Round.of([{"sent_ns": 0, "n": 0, "arrived_ns": 2_000_000}], batches)
    costs, stages, durations = tables(Measured(rounds={str(way): [one] for way in WAYS}), WAYS, rounds=1, every_s=0.005)
    assert costs.rows[0] == ("query alone", "", "2 (2–2)", "2 (2–2)", "2 (2–2)")
    assert len(costs.rows) == len(stages.rows) == 9
    assert len(durations.rows) == 5


def received(spout: LineSpout) -> Iterator[str]:
    while True:
        yield from (value for (value,) in spout.next() or ())


def test_the_sender_begins_anew_with_whoever_connects() -> None:
    with sender(0.001) as port:
        with socket.create_connection(("127.0.0.1", port)) as connection:
            assert connection.recv(7) == b"sent_ns"
        spout = LineSpout(port)
        spout.open(TaskContext(topology="paths", component="lines"))
        values = received(spout)
        first, second = next(values), next(values)
        spout.close()
    assert first.endswith(" n=0")
    assert second.endswith(" n=1")


def test_the_operators_count_by_key(tmp_path: Path) -> None:
    line = "sent_ns=5 n=13"
    assert BoltTester(Parse()).process(value=line) == [(3, line)]
    [(key, count, passed_on)] = BoltTester(Count(), by=("key",)).process(key=3, line=line)
    assert (key, count) == (3, 1)
    assert passed_on.startswith(f"{line} counted_ns=")
    BoltTester(NotingCount(str(tmp_path)), by=("key",)).process(key=3, line=passed_on)
    assert noted(str(tmp_path))[13]["sent_ns"] == 5
