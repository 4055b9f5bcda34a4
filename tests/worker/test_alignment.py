"""Markers: a task acts when it has one from all its inputs, and once."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.worker.alignment import Alignment
from penstock.worker.arrival import Marker

Channel = tuple[int, int]

channel_sets = st.sets(st.tuples(st.integers(0, 3), st.integers(0, 5)), min_size=1, max_size=8)


def end(epoch: int = 0) -> Marker:
    return Marker(epoch, ends=True)


def fired(alignment: Alignment, channel: Channel, marker: Marker) -> list[tuple[int, bool]]:
    return [(aligned.epoch, aligned.ends) for aligned in alignment.arrive(channel, marker)]


@given(channel_sets, st.randoms(use_true_random=False))
def test_the_end_comes_with_the_end_of_the_last_channel(channels: set[Channel], random: Random) -> None:
    order = sorted(channels)
    random.shuffle(order)
    alignment = Alignment(channels)

    for channel in order[:-1]:
        assert fired(alignment, channel, end()) == []
        assert not alignment.ended
    assert fired(alignment, order[-1], end()) == [(0, True)]
    assert alignment.ended


@given(channel_sets, st.integers(1, 4), st.data())
def test_epochs_come_once_each_in_order_and_the_end_last(
    channels: set[Channel], epochs: int, data: st.DataObject
) -> None:
    """Each channel sends its markers in order and then ends, some of them early; between channels any order goes."""
    alignment = Alignment(channels)
    sends = {
        channel: [
            *(Marker(epoch, ends=False) for epoch in range(1, data.draw(st.integers(1, epochs + 1)))),
            end(epochs),
        ]
        for channel in sorted(channels)
    }
    longest = max(len(markers) - 1 for markers in sends.values())
    seen = []
    while sends:
        channel = data.draw(st.sampled_from(sorted(sends)))
        marker = sends[channel].pop(0)
        if not sends[channel]:
            del sends[channel]
        seen += fired(alignment, channel, marker)

    assert [epoch for epoch, ends in seen if not ends] == sorted({epoch for epoch, ends in seen if not ends})
    assert [ends for _, ends in seen].count(True) == 1
    assert seen[-1] == (epochs, True)
    # Every epoch that somebody reached is acted on, but for those that only the end of all completed.
    assert len(seen) - 1 <= longest


def test_an_end_completes_the_epochs_that_only_it_held_up() -> None:
    alignment = Alignment({(0, 1), (0, 2)})
    assert fired(alignment, (0, 1), Marker(1, ends=False)) == []
    assert fired(alignment, (0, 1), Marker(2, ends=False)) == []

    assert fired(alignment, (0, 2), end(0)) == [(1, False), (2, False)]
    assert fired(alignment, (0, 1), Marker(3, ends=False)) == [(3, False)]
    assert fired(alignment, (0, 1), end(3)) == [(3, True)]


def test_a_marker_that_comes_twice_counts_once() -> None:
    alignment = Alignment({(0, 1), (0, 2)})
    assert fired(alignment, (0, 1), end()) == []
    assert fired(alignment, (0, 1), end()) == []
    assert fired(alignment, (0, 2), end()) == [(0, True)]


def test_a_restarted_source_has_to_end_again() -> None:
    alignment = Alignment({(0, 1), (1, 1), (0, 2)})
    for channel in ((0, 1), (1, 1)):
        assert fired(alignment, channel, end()) == []
    alignment.reopen([1])

    assert fired(alignment, (0, 2), end()) == []
    assert fired(alignment, (0, 1), end()) == []
    assert fired(alignment, (1, 1), end()) == [(0, True)]


def test_a_marker_from_nowhere_is_refused() -> None:
    with pytest.raises(ValueError, match=r"channel \(4, 9\)"):
        Alignment({(0, 1)}).arrive((4, 9), end())


def test_an_epoch_that_a_channel_left_out_is_over_with_the_next_and_comes_no_more() -> None:
    alignment = Alignment([(0, 1), (0, 2)])
    assert fired(alignment, (0, 1), Marker(1, ends=False)) == []
    assert fired(alignment, (0, 1), Marker(2, ends=False)) == []
    assert fired(alignment, (0, 2), Marker(2, ends=False)) == [(2, False)]
    assert fired(alignment, (0, 2), Marker(1, ends=False)) == []
    assert alignment.state().arrived == {}
    elsewhere = Alignment([(0, 1), (0, 2)])
    elsewhere.restore(alignment.state())
    assert fired(elsewhere, (0, 1), Marker(2, ends=False)) == []
    assert fired(elsewhere, (0, 2), Marker(2, ends=False)) == []
