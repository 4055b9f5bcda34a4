"""Lanes: what one task has emitted for one other, on one edge, since the last flush.

Routing appends to a lane's list and to nothing else; what it costs to get there is paid once per flush.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import starmap
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import msgspec

from penstock._native import ROWS_UNEVEN, judge_rows
from penstock.errors import MessageTooLargeError
from penstock.transport.frames import FrameKind
from penstock.transport.ring import RingSettings, Route
from penstock.transport.values import portable, portable_rows
from penstock.worker.arrival import Arrival, Marker
from penstock.worker.batches import batch_to_payload

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.topology.tuples import Tuple

__all__ = ["Lane", "LocalLane", "Refusal", "RemoteLane"]

Values: TypeAlias = tuple[Any, ...]

Refusal: TypeAlias = tuple[Exception, Any]
"""Why something that was emitted is not passed on, and what it is. The text is the same for all of one kind."""

MOST_FRAME_BYTES = 512 << 10
"""What would be a larger frame travels in several: each fits into a record of the ring, and into a window of credit."""

MOST_FRAME_TUPLES = 4096
"""The same by number: a task is done with a frame before it does anything else, and may emit many tuples for each."""

MOST_TUPLE_BYTES = RingSettings().max_message_bytes

_UNENCODABLE = (TypeError, ValueError, OverflowError, RecursionError)

_encode = msgspec.msgpack.Encoder().encode


class Receiver(Protocol):
    """A task of the same worker, as a lane sees it."""

    def accept(self, arrival: Arrival) -> None:
        """Puts an arrival at the end of the task's queue."""


class Sender(Protocol):
    """The way to the tasks of another worker."""

    def send(self, route: Route, payload: bytes, tuples: int) -> None:
        """Sends a frame, or keeps it until it can be sent; never waits and never reorders."""


class Lane:
    """The common part: an edge, its two tasks, and what has passed."""

    def __init__(self, *, edge: int, source: int, target: int, fields: tuple[str, ...]) -> None:
        self.edge = edge
        self.source = source
        self.target = target
        self.tuples: list[Values] = []
        self.before: list[list[Values] | pa.RecordBatch] = []
        """Record batches, and the tuples that came before them: all of it goes before `tuples`."""
        self.sent_tuples = 0
        self.sent_bytes = 0
        self._fields = fields

    def put_batch(self, batch: pa.RecordBatch) -> None:
        """Puts a record batch behind the tuples."""
        if self.tuples:
            self.before.append(self.tuples.copy())
            self.tuples.clear()
        self.before.append(batch)

    @property
    def put_tuples(self) -> int:
        """How many tuples were put here, ever."""
        return self.sent_tuples + len(self.tuples) + sum(map(len, self.before))

    def flush(self, origin_ns: int, now_ns: int) -> list[Refusal]:
        """Passes everything on, but for what is refused. `origin_ns` is when the oldest of it entered the topology."""
        refused: list[Refusal] = []
        for part in self.before:
            if isinstance(part, list):
                self._pass_checked(part, origin_ns, now_ns, refused)
            else:
                self._pass_batch(part, origin_ns, now_ns, refused)
        self.before.clear()
        self._pass_checked(self.tuples, origin_ns, now_ns, refused)
        self.tuples.clear()
        return refused

    def put_marker(self, marker: Marker) -> None:
        """Passes a marker on, behind everything that was flushed."""
        raise NotImplementedError

    def _pass_tuples(self, tuples: list[Values], origin_ns: int, now_ns: int, refused: list[Refusal]) -> None:
        raise NotImplementedError

    def _pass_batch(self, batch: pa.RecordBatch, origin_ns: int, now_ns: int, refused: list[Refusal]) -> None:
        raise NotImplementedError

    def _pass_checked(self, tuples: list[Values], origin_ns: int, now_ns: int, refused: list[Refusal]) -> None:
        if judge_rows(tuples, len(self._fields)) == ROWS_UNEVEN:
            tuples = self._of_right_width(tuples, refused)
        if len(tuples) <= MOST_FRAME_TUPLES:
            self._pass_tuples(tuples, origin_ns, now_ns, refused)
            return
        for start in range(0, len(tuples), MOST_FRAME_TUPLES):
            self._pass_tuples(tuples[start : start + MOST_FRAME_TUPLES], origin_ns, now_ns, refused)

    def _of_right_width(self, tuples: list[Values], refused: list[Refusal]) -> list[Values]:
        good = []
        for values in tuples:
            if len(values) == len(self._fields):
                good.append(values)
            else:
                message = f"emitted {len(values)} values for the {len(self._fields)} fields {self._fields}"
                refused.append((ValueError(message), values))
        return good


class LocalLane(Lane):
    """To a task of the same worker: by reference."""

    def __init__(
        self, *, edge: int, source: int, target: int, fields: tuple[str, ...], receiver: Receiver, make: type[Tuple]
    ) -> None:
        super().__init__(edge=edge, source=source, target=target, fields=fields)
        self._receiver = receiver
        self._make = make

    def _pass_tuples(self, tuples: list[Values], origin_ns: int, now_ns: int, refused: list[Refusal]) -> None:  # noqa: ARG002
        if not tuples:
            return
        self.sent_tuples += len(tuples)
        made = list(starmap(self._make, tuples))
        self._receiver.accept(
            Arrival(edge=self.edge, source=self.source, tuples=made, origin_ns=origin_ns, sent_ns=now_ns)
        )

    def _pass_batch(self, batch: pa.RecordBatch, origin_ns: int, now_ns: int, refused: list[Refusal]) -> None:  # noqa: ARG002
        self.sent_tuples += batch.num_rows
        self._receiver.accept(
            Arrival(edge=self.edge, source=self.source, batch=batch, origin_ns=origin_ns, sent_ns=now_ns)
        )

    def put_marker(self, marker: Marker) -> None:  # noqa: D102
        self._receiver.accept(Arrival(edge=self.edge, source=self.source, marker=marker))


class RemoteLane(Lane):
    """To a task of another worker: encoded, one frame per flush unless that is too large."""

    def __init__(
        self, *, edge: int, source: int, target: int, fields: tuple[str, ...], sender: Sender, assignment: int
    ) -> None:
        super().__init__(edge=edge, source=source, target=target, fields=fields)
        self._sender = sender
        self._tuples_route, self._batch_route, self._marker_route = (
            Route(target=target, source=source, stream=edge, assignment=assignment, flags=kind)
            for kind in (FrameKind.TUPLES, FrameKind.BATCH, FrameKind.MARKER)
        )

    def _pass_tuples(self, tuples: list[Values], origin_ns: int, now_ns: int, refused: list[Refusal]) -> None:
        if not tuples:
            return
        try:
            rows = portable_rows(tuples)
            payload = _encode((origin_ns, now_ns, rows))
        except _UNENCODABLE:
            rows = _portable(tuples, refused)
            payload = _encode((origin_ns, now_ns, rows))
        self._pass_rows(rows, payload, origin_ns, now_ns, refused)

    def _pass_rows(
        self, rows: Sequence[Any], payload: bytes, origin_ns: int, now_ns: int, refused: list[Refusal]
    ) -> None:
        if len(payload) > MOST_FRAME_BYTES and len(rows) > 1:
            middle = len(rows) // 2
            for half in (rows[:middle], rows[middle:]):
                self._pass_rows(half, _encode((origin_ns, now_ns, half)), origin_ns, now_ns, refused)
        elif rows:
            self._send(self._tuples_route, payload, len(rows), refused)

    def _pass_batch(self, batch: pa.RecordBatch, origin_ns: int, now_ns: int, refused: list[Refusal]) -> None:
        payload = batch_to_payload(batch, origin_ns, now_ns)
        if len(payload) > MOST_FRAME_BYTES and batch.num_rows > 1:
            middle = batch.num_rows // 2
            self._pass_batch(batch.slice(0, middle), origin_ns, now_ns, refused)
            self._pass_batch(batch.slice(middle), origin_ns, now_ns, refused)
        else:
            self._send(self._batch_route, payload, batch.num_rows, refused)

    def _send(self, route: Route, payload: bytes, tuples: int, refused: list[Refusal]) -> None:
        if len(payload) > MOST_TUPLE_BYTES:  # one tuple: more would have been cut in two
            message = f"a tuple is too large to travel to another worker: wanted at most {MOST_TUPLE_BYTES} bytes"
            refused.append((MessageTooLargeError(message), f"{len(payload)} bytes"))
            return
        self.sent_tuples += tuples
        self.sent_bytes += len(payload)
        self._sender.send(route, payload, tuples)

    def put_marker(self, marker: Marker) -> None:  # noqa: D102
        self._sender.send(self._marker_route, _encode((marker.epoch, marker.ends)), 0)


def _portable(tuples: list[Values], refused: list[Refusal]) -> list[list[Any]]:
    """Those that can travel, as they travel. Looked for one by one, and only when not all can."""
    good = []
    for values in tuples:
        try:
            travelling = [*map(portable, values)]
            _encode(travelling)
        except _UNENCODABLE as error:
            refusal = TypeError(f"a value cannot travel to another worker: {error}")
            refusal.__cause__ = error
            refused.append((refusal, values))
        else:
            good.append(travelling)
    return good
