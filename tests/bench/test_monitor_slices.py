"""From notes to what is lost, with runs that only pretend."""

import pytest

from bench.monitor.slices import Slice, rate, ratios, taken

S = 10**9
# Two tasks, 100 and 50 a second, which note every two seconds.
NOTES = [[(at * S, 100 * at) for at in range(0, 21, 2)], [(at * S, 50 * at) for at in range(0, 21, 2)]]


def test_a_rate_is_that_of_all_tasks_between_two_times_that_nobody_noted() -> None:
    assert rate(NOTES, Slice(every_s=None, began_ns=3 * S, ended_ns=7 * S + S // 2)) == pytest.approx(150)


@pytest.mark.parametrize(("began_s", "ended_s"), [(-1, 5), (5, 25)])
def test_what_was_not_noted_is_not_made_up(began_s: int, ended_s: int) -> None:
    with pytest.raises(ValueError, match="wanted notes before and after"):
        rate(NOTES, Slice(every_s=None, began_ns=began_s * S, ended_ns=ended_s * S))


def test_neighbours_are_compared_whichever_is_first() -> None:
    assert ratios([(None, 100.0), (1.0, 99.0), (1.0, 95.0), (None, 100.0)]) == pytest.approx([0.99, 0.95])


def test_what_the_driver_takes_is_the_difference_of_neighbours() -> None:
    def slice_of(every_s: float | None, cpu_s: float) -> Slice:
        return Slice(every_s=every_s, began_ns=0, ended_ns=2 * S, driver_cpu_s=cpu_s)

    slices = [slice_of(None, 0.1), slice_of(1.0, 0.2), slice_of(1.0, 0.12), slice_of(None, 0.1)]
    assert taken(slices) == pytest.approx([0.05, 0.01])
