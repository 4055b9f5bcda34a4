"""Time that passes when the test says so."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.testing import VirtualClock


class Bell:
    """Rings at given times, and notes when it was looked at."""

    def __init__(self, clock: VirtualClock, *after_ms: int) -> None:
        self.clock = clock
        self.start_ns = clock.now_ns()
        self.due = sorted(after_ms)
        self.rung: list[int] = []

    def settle(self) -> None:
        while self.due and self.clock.now_ns() >= self.start_ns + self.due[0] * 1_000_000:
            self.due.pop(0)
            self.rung.append((self.clock.now_ns() - self.start_ns) // 1_000_000)

    def due_ns(self) -> int | None:
        return self.start_ns + self.due[0] * 1_000_000 if self.due else None


def test_a_clock_stands_still_by_itself() -> None:
    clock = VirtualClock()
    assert clock.now_ns() == clock.now_ns() == 10**18
    assert clock.next_due_ns() is None


@given(st.lists(st.integers(0, 1000), max_size=20), st.lists(st.integers(0, 500), max_size=10))
def test_what_is_due_happens_at_its_instant_however_time_passes(due_ms: list[int], steps_ms: list[int]) -> None:
    clock = VirtualClock()
    bell = Bell(clock, *due_ms)
    clock.attach(bell)
    for step_ms in steps_ms:
        clock.advance(step_ms / 1000)

    assert bell.rung == sorted(ms for ms in due_ms if ms <= sum(steps_ms)) or not steps_ms
    assert clock.now_ns() == 10**18 + sum(steps_ms) * 1_000_000


def test_several_that_live_by_one_clock_take_their_turns_in_time() -> None:
    clock = VirtualClock()
    first, second = Bell(clock, 10, 30), Bell(clock, 20)
    clock.attach(first)
    clock.attach(second)
    assert clock.next_due_ns() == 10**18 + 10_000_000
    clock.advance(0.025)
    assert (first.rung, second.rung) == ([10], [20])
    clock.detach(first)
    clock.advance(1)
    assert first.rung == [10]


def test_a_clock_cannot_be_turned_back() -> None:
    with pytest.raises(ValueError, match="got -1"):
        VirtualClock().advance(-1)
