"""Backoff: pauses that double up to a longest one, and an end after so many failures in a row."""

from hypothesis import given
from hypothesis import strategies as st

from penstock.flow.backoff import FIRST_PAUSE_NS, LONGEST_PAUSE_NS, Backoff


@given(max_failures=st.integers(1, 50), delays_ns=st.lists(st.integers(0, 5 * LONGEST_PAUSE_NS), max_size=100))
def test_pauses_double_up_to_the_longest_and_hope_ends_at_the_last(max_failures: int, delays_ns: list[int]) -> None:
    backoff, now_ns, pause_ns = Backoff(max_failures=max_failures), 0, FIRST_PAUSE_NS
    for failures, delay_ns in enumerate(delays_ns):
        assert backoff.failures == failures
        assert backoff.is_hopeless == (failures >= max_failures)
        backoff.failed(now_ns)
        assert backoff.is_waiting(now_ns)
        assert backoff.is_waiting(now_ns + pause_ns - 1)
        assert not backoff.is_waiting(now_ns + pause_ns)
        now_ns, pause_ns = now_ns + delay_ns, min(2 * pause_ns, LONGEST_PAUSE_NS)


def test_nothing_waits_before_the_first_failure() -> None:
    backoff = Backoff(max_failures=1)
    assert not backoff.is_waiting(0)
    assert not backoff.is_hopeless


def test_a_row_without_end_keeps_its_longest_pause() -> None:
    backoff = Backoff(max_failures=1 << 40)
    for _ in range(10_000):
        backoff.failed(0)
    assert backoff.retry_at_ns == LONGEST_PAUSE_NS
