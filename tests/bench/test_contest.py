"""Rounds, order and failures, with pairs that only pretend."""

from io import StringIO

import pytest

from bench.ipc.contest import Contest
from bench.ipc.control import EndError
from bench.ipc.pair import Latencies, Paced, Pair
from bench.ipc.transport import Transport
from bench.progress import Progress

CELL = Paced(size_bytes=100, rate_per_s=1000, count=3, warm_up=1)
OTHER_CELL = Paced(size_bytes=200, rate_per_s=1000, count=3, warm_up=1)


class PretendedPair(Pair):
    def __init__(self, transport: "Pretended") -> None:
        self._transport = transport

    def warm_up(self) -> None:
        self._transport.note("warm up")

    def latencies(self, paced: Paced) -> Latencies:
        self._transport.note(f"latency {paced.size_bytes}")
        mean_us, saturated = self._transport.answers.pop(0)
        return Latencies(latencies_ns=(int(mean_us * 1000),), saturated=saturated)

    def throughput_per_s(self, size_bytes: int, at_least_s: float) -> float:
        self._transport.note(f"throughput {size_bytes} for {at_least_s:g} s")
        return float(size_bytes)

    def close(self) -> None:
        self._transport.note("close")


class Pretended(Transport):
    def __init__(self, name: str, log: list[str], absent: str | None = None, starts: bool = True) -> None:
        self.name = name
        self.answers: list[tuple[float, bool]] = []
        self._log, self._absent, self._starts = log, absent, starts

    def note(self, event: str) -> None:
        self._log.append(f"{self.name} {event}")

    def absence(self) -> str | None:
        return self._absent

    def open(self) -> Pair:
        if not self._starts:
            msg = "the sender died"
            raise EndError(msg)
        return PretendedPair(self)


@pytest.fixture
def log() -> list[str]:
    return []


def contest(*transports: Pretended) -> Contest:
    return Contest({transport.name: transport for transport in transports}, Progress(StringIO()))


def test_in_each_round_another_transport_goes_first(log: list[str]) -> None:
    a, b, c = (Pretended(name, log) for name in "abc")
    for transport in (a, b, c):
        transport.answers = [(1.0, False)] * 4
    with contest(a, b, c) as running:
        del log[:]
        running.latency([CELL, OTHER_CELL], rounds=2)
        order = [event.partition(" ")[0] for event in log]
    assert order == list("abcabcbcabca")
    assert log[0] == "a latency 100"
    assert log[3] == "a latency 200"


def test_a_row_is_the_median_over_rounds_and_saturated_when_most_of_them_are(log: list[str]) -> None:
    a, b = Pretended("a", log), Pretended("b", log)
    a.answers = [(1.0, True), (30.0, False), (5.0, False)]
    b.answers = [(1.0, True), (1.0, True), (1.0, False)]
    with contest(a, b) as running:
        first, second = running.latency([CELL], rounds=3)
    assert (first.transport, first.size_bytes, first.rate_per_s) == ("a", 100, 1000)
    assert (first.mean_us.median, first.mean_us.lowest, first.mean_us.highest) == (5.0, 1.0, 30.0)
    assert not first.saturated
    assert second.saturated


def test_the_absent_and_the_failing_are_left_out_with_the_reason(log: list[str]) -> None:
    present = Pretended("present", log)
    absent = Pretended("absent", log, absent="no javac on the PATH")
    stillborn = Pretended("stillborn", log, starts=False)
    with contest(absent, stillborn, present) as running:
        rows = running.throughput([100], at_least_s=0.5, rounds=1)
        assert running.left_out == {
            "absent": "absent: no javac on the PATH",
            "stillborn": "failed to start: the sender died",
        }
    assert [(row.transport, row.messages_per_s.median) for row in rows] == [("present", 100.0)]
    assert log == ["present warm up", "present throughput 100 for 0.5 s", "present close"]


def test_who_fails_on_the_way_keeps_what_was_measured_before(log: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = Pretended("a", log), Pretended("b", log)
    a.answers = [(1.0, False)] * 4
    b.answers = [(2.0, False)]

    measured = PretendedPair.latencies

    def latencies(self: PretendedPair, paced: Paced) -> Latencies:
        if not self._transport.answers:
            msg = "b receiver did not answer"
            raise EndError(msg)
        return measured(self, paced)

    monkeypatch.setattr(PretendedPair, "latencies", latencies)
    with contest(a, b) as running:
        rows = running.latency([CELL, OTHER_CELL], rounds=2)
        assert running.left_out == {"b": "failed at 200 B at 1,000/s: b receiver did not answer"}
    assert [(row.transport, row.size_bytes) for row in rows] == [("a", 100), ("a", 200), ("b", 100)]
    assert log.count("b close") == 1
    assert log.index("b close") < log.index("a close") - 2, "it was not stopped before the others went on"


def test_one_may_sit_out_the_paced_runs(log: list[str]) -> None:
    a, b = Pretended("a", log), Pretended("b", log)
    a.answers = [(1.0, False)]
    with contest(a, b) as running:
        assert [row.transport for row in running.latency([CELL], rounds=1, without="b")] == ["a"]
