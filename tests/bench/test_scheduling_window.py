"""What the scheduling benchmark makes of two looks at a run, and how it chooses a rate."""

import pytest

from bench.scheduling.cores import CoreTimes
from bench.scheduling.rates import MOST_SHARE, choose_rate
from bench.scheduling.window import times_between
from penstock._native import Histogram


def histogram(*values_ms: float) -> bytes:
    made = Histogram()
    for value_ms in values_ms:
        made.record(int(value_ms * 1e6))
    return made.to_bytes()


def test_only_what_came_between_the_looks_counts() -> None:
    found = times_between(histogram(1000, 1000), histogram(1000, 1000, 2, 2, 5))
    assert found is not None
    assert found.tuples == 3
    assert found.mean_ms == pytest.approx(3.0)
    assert found.p50_ms == pytest.approx(2.0, rel=0.01)
    assert found.p99_ms == pytest.approx(5.0, rel=0.01)


def test_the_first_look_may_have_seen_nothing() -> None:
    found = times_between(None, histogram(4))
    assert found is not None
    assert found.tuples == 1
    assert found.mean_ms == pytest.approx(4.0)


@pytest.mark.parametrize("later", [None, histogram(1)])
def test_where_nothing_came_there_are_no_times(later: bytes | None) -> None:
    assert times_between(histogram(1), later) is None


def test_the_share_of_cores_is_that_of_the_time_between() -> None:
    earlier = CoreTimes.of("cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 1 2 3")
    later = CoreTimes.of("cpu  120 5 110 850 10 3 2 0 0 0\ncpu0 1 2 3")
    assert later.share_since(earlier) == pytest.approx(40 / 100)


def test_a_rate_is_chosen_that_leaves_cores_idle() -> None:
    chosen = choose_rate(1000.0, lambda per_s: 0.1 + per_s * 0.001)
    assert chosen.per_s == pytest.approx(400.0)
    assert chosen.idle_share == pytest.approx(0.1)
    assert chosen.core_share == pytest.approx(0.5)


def test_no_rate_is_faster_than_wanted() -> None:
    assert choose_rate(50.0, lambda per_s: 0.1 + per_s * 0.001).per_s == 50.0


def test_where_cost_grows_faster_than_the_rate_it_is_taken_back() -> None:
    chosen = choose_rate(1000.0, lambda per_s: 0.1 + per_s * 0.0005 + (per_s / 700) ** 4)
    assert chosen.core_share < MOST_SHARE


def test_there_is_some_input_however_busy_the_machine_is() -> None:
    assert choose_rate(1000.0, lambda _: 0.9).per_s > 0
