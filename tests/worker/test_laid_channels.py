"""Old and new ways of a channel keep their order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.worker.arrival import Arrival, Marker
from penstock.worker.laid_channels import LaidChannels

CHANNEL = (0, 7)


def arrival(assignment: int, number: int) -> Arrival:
    return Arrival(edge=0, source=7, assignment=assignment, tuples=[(number,)])


def marker(assignment: int, switch: int) -> Arrival:
    return Arrival(edge=0, source=7, assignment=assignment, marker=Marker(0, ends=False, switch=switch))


@given(lengths=st.lists(st.integers(0, 4), min_size=1, max_size=5), data=st.data())
def test_whatever_way_is_faster_everything_comes_in_order(lengths: list[int], data: st.DataObject) -> None:
    """Each assignment sends some and then a marker; each way keeps its order, and none waits for another."""
    ways: list[list[Arrival]] = []
    sent = 0
    for assignment, length in enumerate(lengths, start=1):
        way = [arrival(assignment, sent + number) for number in range(length)]
        sent += length
        ways.append([*way, marker(assignment, assignment + 1)])
    channels, queue, seen = LaidChannels([CHANNEL], 1), list[Arrival](), list[int]()
    while any(ways):
        way = data.draw(st.sampled_from([way for way in ways if way]))
        came = way.pop(0)
        if channels.may_come(came):
            queue.append(came)
        while queue:
            taken = queue.pop(0)
            if taken.marker is not None:
                queue += channels.switch(CHANNEL, taken.marker.switch)
            seen += [number for (number,) in taken.tuples]
    assert seen == [*range(sent)]
    assert channels.tuples == 0


def test_what_waits_for_a_marker_that_is_lost_is_let_go() -> None:
    channels = LaidChannels([CHANNEL, (0, 8)], 1)
    early = arrival(2, 0)
    assert not channels.may_come(early)
    assert channels.tuples == 1
    assert channels.switch_all(8, 2) == []
    assert channels.switch_all(7, 2) == [early]
    assert channels.may_come(arrival(2, 1))


def test_a_task_is_drained_when_all_its_channels_have_switched_or_ended() -> None:
    channels = LaidChannels([(0, 7), (0, 8), (1, 9)], 1)
    channels.switch((0, 7), 2)
    assert not channels.are_laid(2, ended={(0, 8)}, among=channels)
    assert channels.are_laid(2, ended={(0, 8), (1, 9)}, among=channels)
    assert channels.are_laid(2, ended=(), among=[(0, 7)])
