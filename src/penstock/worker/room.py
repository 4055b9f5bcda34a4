"""Room: how many tuples a task may do until what it emits is as much as may be under way to those that it feeds."""

from __future__ import annotations

import math
import sys

from penstock.flow.credit import CreditTaker
from penstock.worker.lanes import Lane, RemoteLane
from penstock.worker.outputs import Subscriber
from penstock.worker.tasks import RunningTask

__all__ = ["sendable_tuples"]

PRESUMED_TUPLE_BYTES = 64
"""Before the first was sent."""


def sendable_tuples(running: RunningTask, credit: CreditTaker, uncounted_tuples: int) -> int:
    """At least one. `uncounted_tuples` is presumed where credit is not counted by task, which is bounded otherwise."""
    outputs = running.outputs
    rooms = [_room_of(one, credit, uncounted_tuples) for one in outputs.subscribers]
    emits = outputs.emitted / running.processed if running.processed else 1.0
    return max(1, int(min(rooms, default=math.inf) / emits)) if emits and rooms else sys.maxsize


def _room_of(subscriber: Subscriber, credit: CreditTaker, uncounted_tuples: int) -> float:
    """How many tuples may be sent on an edge: a shuffle can do without those of its targets that are full."""
    rooms = [_room_on(lane, credit, uncounted_tuples) for lane in subscriber.lanes]
    return sum(rooms) if subscriber.turns is not None else min(rooms) * len(rooms)


def _room_on(lane: Lane, credit: CreditTaker, uncounted_tuples: int) -> float:
    if lane.__class__ is not RemoteLane:
        return uncounted_tuples
    size_bytes = lane.sent_bytes / lane.sent_tuples if lane.sent_tuples else PRESUMED_TUPLE_BYTES
    return credit.room_bytes((lane.source, lane.target)) / size_bytes
