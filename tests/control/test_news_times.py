"""When a worker tells what its turns have brought."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.control.telling import NEWS_EVERY_NS, NewsTimes

turns = st.lists(
    st.tuples(
        st.integers(0, 3),  # how much there was to do
        st.booleans(),  # whether the turn has left something to do
        st.integers(0, 2 * NEWS_EVERY_NS),  # how long it took
    ).map(lambda turn: turn if turn[0] else (0, False, turn[2])),
    max_size=30,
)


@given(turns)
def test_what_a_turn_has_brought_is_told_once_it_is_idle_or_in_time(script: list[tuple[int, bool, int]]) -> None:
    times, now_ns = NewsTimes(), 1_000_000_000
    told_ns = now_ns - NEWS_EVERY_NS
    untold = False
    for worked, is_restless, took_ns in script:
        now_ns += took_ns
        untold = untold or worked > 0
        wanted = untold and (not is_restless or now_ns - told_ns >= NEWS_EVERY_NS)
        assert times.turned(worked, is_restless=is_restless, now_ns=now_ns) == wanted
        if wanted:
            times.told(now_ns)
            untold, told_ns = False, now_ns


def test_the_last_busy_turn_is_told_of_by_the_empty_one_behind_it() -> None:
    """A spout that lives keeps its worker restless: what its last row has brought must not wait for a clock."""
    times = NewsTimes()
    assert times.turned(5, is_restless=True, now_ns=NEWS_EVERY_NS)
    times.told(NEWS_EVERY_NS)
    assert not times.turned(5, is_restless=True, now_ns=NEWS_EVERY_NS + 1)
    assert times.turned(0, is_restless=False, now_ns=NEWS_EVERY_NS + 2)
    times.told(NEWS_EVERY_NS + 2)
    assert not times.turned(0, is_restless=False, now_ns=NEWS_EVERY_NS + 3)
