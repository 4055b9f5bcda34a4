"""How much may wait for a task: by how long it works on a tuple, and by how long it is kept from working."""

from types import SimpleNamespace
from typing import Any

from penstock.flow.watermarks import LEAST_TUPLES, Marks
from penstock.testing import VirtualClock
from penstock.worker.reading import Reading

MS = 1_000_000
TURN_MS = 5


class Task(SimpleNamespace):
    """As much of a bolt's task as is read."""

    def turn(self, *, tuples: int = 0, busy_ms: float = 0.0, blocked: bool = False) -> None:
        self.clock.advance(TURN_MS / 1e3)
        self.processed += tuples
        self.busy_ns += int(busy_ms * MS)
        if blocked:
            self.blocked_at_ns = self.clock.now_ns()


def task() -> Any:
    return Task(
        clock=VirtualClock(), processed=0, busy_ns=0, blocked_at_ns=-1 << 62, queue=SimpleNamespace(ready_tuples=20)
    )


def test_a_quick_task_may_have_as_many_waiting_as_any() -> None:
    quick, reading = task(), Reading(Marks())
    for _ in range(50):
        quick.turn(tuples=1000, busy_ms=1.0)
        assert not reading.is_high(quick)
    assert reading.gauge.high_tuples == Marks().high_tuples


def test_a_quick_task_that_is_let_work_now_and_then_may_have_as_many_as_get_through() -> None:
    quick, reading = task(), Reading(Marks())
    for _ in range(50):
        for _ in range(9):
            quick.turn(blocked=True)
            reading.is_high(quick)
        quick.turn(tuples=50, busy_ms=0.05)  # 50 in 50 ms
        reading.is_high(quick)
    assert 90 < reading.gauge.high_tuples < 120


def test_a_task_that_is_not_let_work_at_all_may_have_next_to_nothing() -> None:
    stalled, reading = task(), Reading(Marks())
    stalled.turn(tuples=1000, busy_ms=1.0)
    reading.is_high(stalled)
    for _ in range(2_000 // TURN_MS):
        stalled.turn(blocked=True)
        reading.is_high(stalled)
    assert reading.gauge.high_tuples < 200
    assert reading.gauge.high_tuples >= LEAST_TUPLES


def test_it_recovers() -> None:
    quick, reading = task(), Reading(Marks())
    for _ in range(2_000 // TURN_MS):
        quick.turn(blocked=True)
        reading.is_high(quick)
    for _ in range(200):
        quick.turn(tuples=1000, busy_ms=1.0)
        reading.is_high(quick)
    assert reading.gauge.high_tuples == Marks().high_tuples


def test_who_had_nothing_waiting_for_long_did_not_wait() -> None:
    idle, reading = task(), Reading(Marks())
    idle.turn(tuples=1000, busy_ms=1.0)
    reading.is_high(idle)
    idle.clock.advance(60.0)
    idle.turn(blocked=True)
    reading.is_high(idle)
    assert reading.gauge.high_tuples == Marks().high_tuples
