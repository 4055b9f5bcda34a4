"""The stamps of paced tuples, on a clock that the test turns."""

from bench.overhead.tuples import Pacer


class Clock:
    def __init__(self) -> None:
        self.now_ns = 5_000_000_000

    def __call__(self) -> int:
        return self.now_ns


def test_a_tuple_that_was_slept_for_is_stamped_when_its_source_woke_up() -> None:
    clock = Clock()
    pacer = Pacer(1_000, 3, clock)
    assert pacer.stamp_ns() == 5_000_000_000
    assert pacer.wait_s() == 0.001
    clock.now_ns += 1_300_000  # overslept
    pacer.woke()
    assert pacer.wait_s() == 0
    assert pacer.stamp_ns() == 5_001_300_000


def test_a_tuple_that_waited_for_a_busy_source_is_stamped_when_it_was_due() -> None:
    clock = Clock()
    pacer = Pacer(1_000, 3, clock)
    pacer.stamp_ns()
    clock.now_ns += 10_000_000  # the source was busy, and never slept
    assert pacer.wait_s() == 0
    assert [pacer.stamp_ns(), pacer.stamp_ns()] == [5_001_000_000, 5_002_000_000]
    assert pacer.left == 0


def test_deadlines_do_not_drift() -> None:
    clock = Clock()
    pacer = Pacer(3, 4, clock)
    clock.now_ns += 60_000_000_000
    assert [pacer.stamp_ns() - 5_000_000_000 for _ in range(4)] == [0, 333_333_333, 666_666_666, 1_000_000_000]
