"""A link is given no more than it carries in a moment, and never stands still for a miscount."""

from hypothesis import given
from hypothesis import strategies as st

from penstock.transport.link_window import LEAST_WINDOW_BYTES, LinkWindow, TcpProgress

MS = 1_000_000
AHEAD_NS = 10 * MS


def fill(window: LinkWindow, size_bytes: int = 1000) -> int:
    given = 0
    while not window.is_full:
        window.given(size_bytes)
        given += size_bytes + 42
    return given


def drive(bytes_per_ms: int, *, ms: int, round_trip_ms: int = 1) -> list[int]:
    """What is under way at each millisecond, on a link of this rate, by somebody who always has more."""
    window = LinkWindow(AHEAD_NS)
    given = arrived = 0
    under_way = []
    for now in range(ms):
        arrived = min(given, arrived + bytes_per_ms)
        if window.is_full:
            window.heard(TcpProgress(arrived, arrived == given, round_trip_ms * MS), now * MS)
        given += fill(window)
        under_way.append(given - arrived)
    return under_way


def test_on_a_slow_link_no_more_is_under_way_than_it_carries_in_a_moment() -> None:
    assert max(drive(2500, ms=300)[100:]) <= 2500 * 12 + 2000  # ahead and a round trip, and a frame


def test_a_fast_link_is_given_more_than_it_carries() -> None:
    assert min(drive(100_000, ms=300)[100:]) >= 100_000


@given(st.integers(10, 200_000), st.integers(0, 200))
def test_the_window_never_closes(bytes_per_ms: int, round_trip_ms: int) -> None:
    assert min(drive(bytes_per_ms, ms=200, round_trip_ms=round_trip_ms)) >= min(bytes_per_ms, LEAST_WINDOW_BYTES) / 2


def test_what_was_counted_and_never_sent_does_not_fill_the_window_for_ever() -> None:
    window = LinkWindow(AHEAD_NS)
    fill(window)
    for now in range(40):
        window.heard(TcpProgress(0, True, MS), now * MS)
    assert window.is_full  # ZeroMQ may have it still
    for now in range(40, 60):
        window.heard(TcpProgress(0, True, MS), now * MS)
    assert not window.is_full


def test_another_connection_counts_from_nothing() -> None:
    window = LinkWindow(AHEAD_NS)
    given = fill(window)
    window.connected()
    assert window.is_full  # it waits for this connection, the first
    window.heard(TcpProgress(given // 2, False, MS), MS)
    fill(window)
    window.connected()
    assert not window.is_full
