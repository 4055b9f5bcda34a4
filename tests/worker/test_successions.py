"""Tasks that are replaced by others: what those send waits for the last of the old, whatever else is planned."""

from __future__ import annotations

from penstock.worker.alignment import Alignment
from penstock.worker.arrival import Arrival
from penstock.worker.laid_channels import LaidChannels
from penstock.worker.successions import Successions

EDGE = 3


def test_a_plan_that_is_given_up_leaves_those_alone_that_were_carried_out() -> None:
    channels = LaidChannels([(EDGE, 1)], 1)
    successions = Successions(channels, Alignment([(EDGE, 1)]))
    successions.expect(EDGE, old={1}, new={2}, assignment=2)
    successions.expect(EDGE, old={2}, new={3}, assignment=3)
    successions.abandon(3)
    assert (EDGE, 3) not in channels
    early = Arrival(edge=EDGE, source=2, assignment=2, tuples=[("a",)])
    assert not channels.may_come(early), "task 1 has not sent its last"
    assert not [*successions.welcome()]
    channels.switch((EDGE, 1), 2)
    assert [*successions.welcome()] == [early]
