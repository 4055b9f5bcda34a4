"""Lanes: what one task has emitted for one other, on one edge, since the last flush.

Routing appends to a lane's list and to nothing else; what it costs to get there is paid once per flush.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import starmap
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import msgspec

from penstock._native import ROWS_UNEVEN, judge_rows
from penstock.errors import MessageTooLargeError
from penstock.flow.ledger import UNTRACKED, last_value
from penstock.transport.frames import FrameKind
from penstock.transport.ring import RingSettings, Route
from penstock.transport.values import portable, portable_rows
from penstock.worker.arrival import Arrival, Marker
from penstock.worker.batches import batch_to_payload

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.topology.tuples import Tuple
    from penstock.worker.tracking import Tracking

__all__ = ["Lane", "LocalLane", "Refusal", "RemoteLane"]

Values: TypeAlias = tuple[Any, ...]


class Refusal(NamedTuple):
    """Why something that was emitted is not passed on, and what it is. The text is the same for all of one kind."""

    error: Exception
    culprit: Any
    root: int = UNTRACKED
    """The tree that will not complete without it."""


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


class _RootedBatch(NamedTuple):
    """A record batch and the tree that it belongs to."""

    batch: pa.RecordBatch
    root: int


class Lane:
    """The common part: an edge, its two tasks, and what has passed."""

    def __init__(
        self, *, edge: int, source: int, target: int, fields: tuple[str, ...], tracking: Tracking | None = None
    ) -> None:
        self.edge = edge
        self.source = source
        self.target = target
        self.tracking = tracking
        self.tuples: list[Values] = []
        """Where trees are tracked, each with its root behind its values."""
        self.before: list[list[Values] | _RootedBatch] = []
        """Record batches, and the tuples that came before them: all of it goes before `tuples`."""
        self.sent_tuples = 0
        self.sent_bytes = 0
        self._fields = fields
        self._width = len(fields) if tracking is None else len(fields) + 1
        self.append = self.tuples.append if tracking is None else self._append_rooted
        """Puts one tuple."""

    def _append_rooted(self, values: Values) -> None:
        assert self.tracking is not None
        self.tuples.append(values + self.tracking.suffix)

    def put_batch(self, batch: pa.RecordBatch) -> None:
        """Puts a record batch behind the tuples."""
        if self.tuples:
            self.before.append(self.tuples.copy())
            self.tuples.clear()
        self.before.append(_RootedBatch(batch, UNTRACKED if self.tracking is None else self.tracking.root))

    @property
    def put_tuples(self) -> int:
        """How many tuples were put here, ever."""
        before = sum(len(part) if isinstance(part, list) else part.batch.num_rows for part in self.before)
        return self.sent_tuples + len(self.tuples) + before

    def flush(self, origin_ns: int, now_ns: int) -> list[Refusal]:
        """Passes everything on, but for what is refused. `origin_ns` is when the oldest of it entered the topology."""
        refused: list[Refusal] = []
        for part in self.before:
            if isinstance(part, list):
                self._pass_checked(part, origin_ns, now_ns, refused)
            else:
                self._pass_batch(*part, origin_ns, now_ns, refused)
        self.before.clear()
        self._pass_checked(self.tuples, origin_ns, now_ns, refused)
        self.tuples.clear()
        return refused

    def put_marker(self, marker: Marker) -> None:
        """Passes a marker on, behind everything that was flushed."""
        raise NotImplementedError

    def _pass_tuples(self, tuples: list[Values], origin_ns: int, now_ns: int, refused: list[Refusal]) -> None:
        raise NotImplementedError

    def _pass_batch(
        self, batch: pa.RecordBatch, root: int, origin_ns: int, now_ns: int, refused: list[Refusal]
    ) -> None:
        raise NotImplementedError

    def _pass_checked(self, tuples: list[Values], origin_ns: int, now_ns: int, refused: list[Refusal]) -> None:
        if judge_rows(tuples, self._width) == ROWS_UNEVEN:
            tuples = self._of_right_width(tuples, refused)
        if len(tuples) <= MOST_FRAME_TUPLES:
            self._pass_tuples(tuples, origin_ns, now_ns, refused)
            return
        for start in range(0, len(tuples), MOST_FRAME_TUPLES):
            self._pass_tuples(tuples[start : start + MOST_FRAME_TUPLES], origin_ns, now_ns, refused)

    def _of_right_width(self, tuples: list[Values], refused: list[Refusal]) -> list[Values]:
        good = []
        for values in tuples:
            if len(values) == self._width:
                good.append(values)
            else:
                culprit, root = self._apart(values)
                message = f"emitted {len(culprit)} values for the {len(self._fields)} fields {self._fields}"
                refused.append(Refusal(ValueError(message), culprit, root))
        return good

    def _apart(self, values: Values) -> tuple[Values, int]:
        """What the user emitted, and its root."""
        return (values, UNTRACKED) if self.tracking is None else (values[:-1], values[-1])

    def _new_frame(self) -> int:
        return UNTRACKED if self.tracking is None else self.tracking.book.new_frame()

    def _count(self, rows: Sequence[Any], frame: int) -> None:
        """Counts what is sent, by tree."""
        if self.tracking is not None:
            self.tracking.book.sent(map(last_value, rows), frame)

    def _count_batch(self, root: int, frame: int) -> None:
        if self.tracking is not None:
            self.tracking.book.sent((root,), frame)


class LocalLane(Lane):
    """To a task of the same worker: by reference."""

    def __init__(self, *, receiver: Receiver, make: type[Tuple], **common: Any) -> None:
        super().__init__(**common)
        self._receiver = receiver
        self._make = make

    def _pass_tuples(self, tuples: list[Values], origin_ns: int, now_ns: int, refused: list[Refusal]) -> None:  # noqa: ARG002
        if not tuples:
            return
        self.sent_tuples += len(tuples)
        made = list(starmap(self._make, tuples))
        frame = self._new_frame()
        self._count(tuples, frame)
        self._receiver.accept(
            Arrival(edge=self.edge, source=self.source, frame=frame, tuples=made, origin_ns=origin_ns, sent_ns=now_ns)
        )

    def _pass_batch(
        self,
        batch: pa.RecordBatch,
        root: int,
        origin_ns: int,
        now_ns: int,
        refused: list[Refusal],  # noqa: ARG002
    ) -> None:
        self.sent_tuples += batch.num_rows
        frame = self._new_frame()
        self._count_batch(root, frame)
        self._receiver.accept(
            Arrival(
                edge=self.edge,
                source=self.source,
                frame=frame,
                root=root,
                batch=batch,
                origin_ns=origin_ns,
                sent_ns=now_ns,
            )
        )

    def put_marker(self, marker: Marker) -> None:  # noqa: D102
        self._receiver.accept(Arrival(edge=self.edge, source=self.source, marker=marker))


class RemoteLane(Lane):
    """To a task of another worker: encoded, one frame per flush unless that is too large."""

    def __init__(self, *, sender: Sender, assignment: int, **common: Any) -> None:
        super().__init__(**common)
        self._sender = sender
        self._tuples_route, self._batch_route, self._marker_route = (
            Route(target=self.target, source=self.source, stream=self.edge, assignment=assignment, flags=kind)
            for kind in (FrameKind.TUPLES, FrameKind.BATCH, FrameKind.MARKER)
        )

    def _pass_tuples(self, tuples: list[Values], origin_ns: int, now_ns: int, refused: list[Refusal]) -> None:
        if not tuples:
            return
        try:
            self._pass_rows(portable_rows(tuples), origin_ns, now_ns, refused)
        except _UNENCODABLE:
            self._pass_rows(self._portable(tuples, refused), origin_ns, now_ns, refused)

    def _pass_rows(self, rows: Sequence[Any], origin_ns: int, now_ns: int, refused: list[Refusal]) -> None:
        """Encodes all before it sends any: if one of them cannot be encoded, none was sent."""
        frame = self._new_frame()
        payload = _encode((origin_ns, now_ns, frame, rows))
        if len(payload) > MOST_FRAME_BYTES and len(rows) > 1:
            middle = len(rows) // 2
            self._pass_rows(rows[:middle], origin_ns, now_ns, refused)
            self._pass_rows(rows[middle:], origin_ns, now_ns, refused)
        elif len(payload) > MOST_TUPLE_BYTES:
            refused.append(_too_large(payload, UNTRACKED if self.tracking is None else rows[0][-1]))
        elif rows:
            self._count(rows, frame)
            self._send(self._tuples_route, payload, len(rows))

    def _portable(self, tuples: list[Values], refused: list[Refusal]) -> list[list[Any]]:
        """Those that can travel, as they travel. Looked for one by one, and only when not all can."""
        good = []
        for values in tuples:
            try:
                travelling = [*map(portable, values)]
                _encode(travelling)
            except _UNENCODABLE as error:
                refusal = TypeError(f"a value cannot travel to another worker: {error}")
                refusal.__cause__ = error
                refused.append(Refusal(refusal, *self._apart(values)))
            else:
                good.append(travelling)
        return good

    def _pass_batch(
        self, batch: pa.RecordBatch, root: int, origin_ns: int, now_ns: int, refused: list[Refusal]
    ) -> None:
        frame = self._new_frame()
        payload = batch_to_payload(batch, origin_ns, now_ns, frame, root)
        if len(payload) > MOST_FRAME_BYTES and batch.num_rows > 1:
            middle = batch.num_rows // 2
            self._pass_batch(batch.slice(0, middle), root, origin_ns, now_ns, refused)
            self._pass_batch(batch.slice(middle), root, origin_ns, now_ns, refused)
        elif len(payload) > MOST_TUPLE_BYTES:
            refused.append(_too_large(payload, root))
        else:
            self._count_batch(root, frame)
            self._send(self._batch_route, payload, batch.num_rows)

    def _send(self, route: Route, payload: bytes, tuples: int) -> None:
        self.sent_tuples += tuples
        self.sent_bytes += len(payload)
        self._sender.send(route, payload, tuples)

    def put_marker(self, marker: Marker) -> None:  # noqa: D102
        self._sender.send(self._marker_route, _encode((marker.epoch, marker.ends)), 0)


def _too_large(payload: bytes, root: int) -> Refusal:
    message = f"a tuple is too large to travel to another worker: wanted at most {MOST_TUPLE_BYTES} bytes"
    return Refusal(MessageTooLargeError(message), f"{len(payload)} bytes", root)
