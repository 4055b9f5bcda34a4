"""When to save all: often enough for a restore to read little, seldom enough for a save to write little."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.checkpoint.delta_policy import DeltaPolicy

sizes = st.integers(0, 1000)


@given(st.integers(0, 5), st.lists(st.tuples(sizes, sizes), max_size=40))
def test_what_a_restore_reads_is_bounded(most_deltas: int, saves: list[tuple[int, int]]) -> None:
    policy = DeltaPolicy(most_deltas=most_deltas)
    full_bytes, deltas = None, list[int]()
    for full_size, delta_size in saves:
        if policy.wants_full(touched=1, keys=1000):
            # It did not have to, if a delta was still within the bounds.
            assert full_bytes is None or len(deltas) == most_deltas or sum(deltas) > full_bytes
            policy.wrote_full(full_size)
            full_bytes, deltas = full_size, []
        else:
            assert full_bytes is not None
            # All deltas but the last are no more than the full one.
            assert sum(deltas) <= full_bytes
            policy.wrote_delta(delta_size)
            deltas.append(delta_size)
        assert len(deltas) <= most_deltas


def test_all_is_saved_when_all_was_touched() -> None:
    policy = DeltaPolicy()
    policy.wrote_full(1000)
    assert policy.wants_full(touched=10, keys=10)
    assert policy.wants_full(touched=3, keys=0)
    assert not policy.wants_full(touched=9, keys=10)


def test_after_a_loss_it_begins_with_all() -> None:
    policy = DeltaPolicy()
    policy.wrote_full(1000)
    policy.wrote_delta(1)
    assert not policy.wants_full(touched=1, keys=10)
    policy.start_anew()
    assert policy.wants_full(touched=1, keys=10)
