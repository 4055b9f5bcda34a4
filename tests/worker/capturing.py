"""Ends of ways that keep what comes, for tests of what sends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.topology.groupings import Grouping
from penstock.topology.tuples import tuple_class
from penstock.transport.ring import Route
from penstock.worker.arrival import Arrival, Marker
from penstock.worker.lanes import Lane, LocalLane, RemoteLane, Sender
from penstock.worker.outputs import Outputs, Subscriber

EMITTER = 1
FIRST_TARGET = 10


class CapturingReceiver:
    """Stands for a task of the same worker."""

    queued_tuples = 0

    def __init__(self) -> None:
        self.arrivals: list[Arrival] = []

    def accept(self, arrival: Arrival) -> None:
        self.arrivals.append(arrival)

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """All tuples, those of record batches too."""
        found: list[tuple[Any, ...]] = []
        for arrival in self.arrivals:
            batch = arrival.batch
            found += (
                [tuple(tup) for tup in arrival.tuples]
                if batch is None
                else [tuple(r.values()) for r in batch.to_pylist()]
            )
        return found

    @property
    def markers(self) -> list[Marker]:
        return [arrival.marker for arrival in self.arrivals if arrival.marker is not None]


class CapturingSender(Sender):
    """Stands for the way to another worker."""

    def __init__(self) -> None:
        self.frames: list[tuple[Route, bytes, int]] = []

    def send(self, route: Route, payload: bytes, tuples: int) -> None:
        self.frames.append((route, payload, tuples))


class Board:
    """The outputs of one task on one stream, and what arrives at each task of its only subscriber."""

    def __init__(
        self, grouping: Grouping, *, tasks: int = 3, fields: Sequence[str] = ("word",), elsewhere: Sequence[int] = ()
    ) -> None:
        self.receivers = [CapturingReceiver() for _ in range(tasks)]
        self.senders = [CapturingSender() for _ in range(tasks)]
        lanes = [
            remote_lane(self.senders[index], target=FIRST_TARGET + index, fields=tuple(fields))
            if index in elsewhere
            else local_lane(self.receivers[index], target=FIRST_TARGET + index, fields=tuple(fields))
            for index in range(tasks)
        ]
        self.lanes: Sequence[Lane] = lanes
        subscriber = Subscriber(grouping, lanes, fields)
        self.outputs = Outputs("emitter", {"default": tuple(fields)}, {"default": [subscriber]})

    def emit(self, *rows: Any) -> list[list[tuple[Any, ...]]]:
        """Emits and flushes; returns what has arrived at each task by now."""
        self.outputs.emit(list(rows))
        return self.flush()

    def flush(self) -> list[list[tuple[Any, ...]]]:
        self.outputs.flush(1, 2)
        return [receiver.rows for receiver in self.receivers]


def local_lane(receiver: CapturingReceiver, *, target: int = FIRST_TARGET, fields: tuple[str, ...]) -> LocalLane:
    return LocalLane(
        assignment=1,
        edge=0,
        source=EMITTER,
        target=target,
        fields=tuple(fields),
        receiver=receiver,
        make=tuple_class("emitter", "default", fields),
    )


def remote_lane(sender: CapturingSender, *, target: int = FIRST_TARGET, fields: tuple[str, ...]) -> RemoteLane:
    return RemoteLane(edge=0, source=EMITTER, target=target, fields=fields, sender=sender, assignment=1)
