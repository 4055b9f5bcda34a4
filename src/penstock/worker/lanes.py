"""Lanes: what one task has emitted for one other, on one edge, since the last flush.

Routing appends to a lane's list and to nothing else; what it costs to get there is paid once per flush.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from itertools import repeat, starmap
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import msgspec

from penstock._native import ROWS_PLAIN, ROWS_TOO_LARGE, ROWS_UNEVEN, WriteEnd, encode_tuples, judge_rows
from penstock.errors import MessageTooLargeError, RingClosedError
from penstock.flow.credit import Channel
from penstock.flow.ledger import UNTRACKED
from penstock.flow.runs import Runs, roots_of, runs_of, split_runs
from penstock.transport.frames import CAST_HEADER_BYTES, FrameKind
from penstock.transport.ring import RingSettings, Route
from penstock.transport.values import UNENCODABLE, portable, portable_rows, why_it_stays
from penstock.worker.arrival import Arrival, Marker
from penstock.worker.batches import batch_to_payload

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.worker.tracking import Tracking

__all__ = [
    "MOST_FRAME_TUPLES",
    "MOST_TUPLE_BYTES",
    "DirectWrite",
    "Lane",
    "LocalLane",
    "Receiver",
    "Refusal",
    "RemoteLane",
    "RootedTuples",
    "Sender",
]

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

MOST_TUPLE_BYTES = RingSettings().max_message_bytes - CAST_HEADER_BYTES
"""What fits into a ring, also behind the header of a broadcast."""

_encode = msgspec.msgpack.Encoder().encode


class Receiver(Protocol):
    """A task of the same worker, as a lane sees it."""

    def accept(self, arrival: Arrival) -> None:
        """Puts an arrival at the end of the task's queue."""

    @property
    def queued_tuples(self) -> int:
        """How many tuples wait for it."""


class DirectWrite(NamedTuple):
    """The ring of another worker, into which a lane may write a frame at once."""

    writer: WriteEnd
    count_sent: Callable[[Channel, int], None]
    """Is told the channel and the size of what the lane has written there."""


class Sender(Protocol):
    """The way to the tasks of another worker."""

    @property
    def direct(self) -> DirectWrite | None:
        """How a lane may write past `send`. None if it may not: it is no ring, or earlier frames wait for room."""
        return None

    @abstractmethod
    def send(self, route: Route, payload: bytes, tuples: int) -> None:
        """Sends a frame, or keeps it until it can be sent; never waits, and never reorders what is for one task."""


class RootedTuples(NamedTuple):
    """Some tuples and the trees that they belong to."""

    tuples: list[Values]
    runs: Runs


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
        self.targets: tuple[int, ...] = (target,)
        """All the tasks that get what is put here."""
        self.tracking = tracking
        self.tuples: list[Values] = []
        self.append = self.tuples.append
        """Puts one tuple."""
        self._runs: list[tuple[int, int]] = []
        """Where trees are tracked: those of the first `rooted` tuples. The others belong to the one in `tracking`."""
        self.rooted = 0
        if tracking is not None:
            tracking.lanes.append(self)
        self.before: list[RootedTuples | _RootedBatch] = []
        """Record batches, and the tuples that came before them: all of it goes before `tuples`."""
        self.sent_tuples = 0
        """How many tuples each target was sent."""
        self.sent_bytes = 0
        self._fields = fields

    def end_run(self) -> None:
        """What was put since the last run belongs to the tree that is worked on, and what follows to another."""
        assert self.tracking is not None
        count = len(self.tuples) - self.rooted
        if count:
            self._runs.append((self.tracking.root, count))
            self.rooted += count

    def _take_runs(self) -> Runs:
        """The trees of all tuples that were put; whoever calls it takes the tuples."""
        if self.tracking is not None:
            self.end_run()
        runs, self._runs, self.rooted = self._runs, [], 0
        return runs

    def put_batch(self, batch: pa.RecordBatch) -> None:
        """Puts a record batch behind the tuples."""
        if self.tuples:
            self.before.append(RootedTuples(self.tuples.copy(), self._take_runs()))
            self.tuples.clear()
        self.before.append(_RootedBatch(batch, UNTRACKED if self.tracking is None else self.tracking.root))

    def flush(self, origin_ns: int, now_ns: int) -> list[Refusal]:
        """Passes everything on, but for what is refused. `origin_ns` is when the oldest of it entered the topology."""
        refused: list[Refusal] = []
        for part in self.before:
            if isinstance(part, RootedTuples):
                self._pass_framed(part, origin_ns, now_ns, refused)
            else:
                self._pass_batch(*part, origin_ns, now_ns, refused)
        self.before.clear()
        if self.tuples:
            self._pass_framed(RootedTuples(self.tuples, self._take_runs()), origin_ns, now_ns, refused)
            self.tuples.clear()
        return refused

    def put_marker(self, marker: Marker) -> None:
        """Passes a marker on, behind everything that was flushed."""
        raise NotImplementedError

    def retire(self) -> None:
        """Nothing more is put here."""

    def _pass_tuples(self, some: RootedTuples, origin_ns: int, now_ns: int, refused: list[Refusal]) -> None:
        raise NotImplementedError

    def _pass_batch(
        self, batch: pa.RecordBatch, root: int, origin_ns: int, now_ns: int, refused: list[Refusal]
    ) -> None:
        raise NotImplementedError

    def _pass_framed(self, some: RootedTuples, origin_ns: int, now_ns: int, refused: list[Refusal]) -> None:
        while len(some.tuples) > MOST_FRAME_TUPLES:
            first, some = _split(some, MOST_FRAME_TUPLES)
            self._pass_checked(first, origin_ns, now_ns, refused)
        self._pass_checked(some, origin_ns, now_ns, refused)

    def _pass_checked(self, some: RootedTuples, origin_ns: int, now_ns: int, refused: list[Refusal]) -> None:
        if judge_rows(some.tuples, len(self._fields)) == ROWS_UNEVEN:
            some = self._of_right_width(some, refused)
        if some.tuples:
            self._pass_tuples(some, origin_ns, now_ns, refused)

    def _of_right_width(self, some: RootedTuples, refused: list[Refusal]) -> RootedTuples:
        good, roots = [], []
        for values, root in _each(some):
            if len(values) == len(self._fields):
                good.append(values)
                roots.append(root)
            else:
                message = f"emitted {len(values)} values for the {len(self._fields)} fields {self._fields}"
                refused.append(Refusal(ValueError(message), values, root))
        return RootedTuples(good, self._runs_of(roots))

    def _without_untravelled(self, some: RootedTuples, refused: list[Refusal]) -> RootedTuples:
        """Those that could travel to another worker."""
        good, roots = [], []
        for values, root in _each(some):
            if any(why_it_stays(value) for value in values):
                refused.append(Refusal(_untravelled(self._fields, values), values, root))
            else:
                good.append(values)
                roots.append(root)
        return RootedTuples(good, self._runs_of(roots))

    def _runs_of(self, roots: Iterable[int]) -> Runs:
        return () if self.tracking is None else runs_of(roots)

    def _new_frame(self) -> int:
        return UNTRACKED if self.tracking is None else self.tracking.book.new_frame()

    def _count(self, runs: Runs, frame: int) -> None:
        """Counts what is sent, by tree. A record batch counts as one tuple."""
        if self.tracking is not None:
            self.tracking.book.sent(runs, frame)


def _each(some: RootedTuples) -> Iterable[tuple[Values, int]]:
    """Each tuple with its root."""
    return zip(some.tuples, roots_of(some.runs) if some.runs else repeat(UNTRACKED))  # noqa: B905 # the latter is endless


def _split(some: RootedTuples, at: int) -> tuple[RootedTuples, RootedTuples]:
    first, rest = split_runs(some.runs, at)
    return RootedTuples(some.tuples[:at], first), RootedTuples(some.tuples[at:], rest)


class LocalLane(Lane):
    """To a task of the same worker: by reference."""

    def __init__(self, *, receiver: Receiver, make: type[Any] | None, assignment: int, **common: Any) -> None:
        """With `make` of None, the receiver wants the plain values."""
        super().__init__(**common)
        self.receiver = receiver
        self._make = make
        self._assignment = assignment

    def _pass_tuples(self, some: RootedTuples, origin_ns: int, now_ns: int, refused: list[Refusal]) -> None:  # noqa: ARG002
        self.sent_tuples += len(some.tuples)
        made = some.tuples.copy() if self._make is None else list(starmap(self._make, some.tuples))
        frame = self._new_frame()
        self._count(some.runs, frame)
        self.receiver.accept(
            Arrival(
                edge=self.edge,
                source=self.source,
                assignment=self._assignment,
                frame=frame,
                runs=some.runs,
                tuples=made,
                origin_ns=origin_ns,
                sent_ns=now_ns,
            )
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
        frame, runs = self._new_frame(), ((root, 1),)
        self._count(runs, frame)
        self.receiver.accept(
            Arrival(
                edge=self.edge,
                source=self.source,
                assignment=self._assignment,
                frame=frame,
                runs=runs,
                batch=batch,
                origin_ns=origin_ns,
                sent_ns=now_ns,
            )
        )

    def put_marker(self, marker: Marker) -> None:  # noqa: D102
        arrival = Arrival(edge=self.edge, source=self.source, assignment=self._assignment, marker=marker)
        self.receiver.accept(arrival)


class RemoteLane(Lane):
    """To a task of another worker: encoded, one frame per flush unless that is too large."""

    most_frame_bytes = MOST_FRAME_BYTES

    def __init__(self, *, sender: Sender, assignment: int, **common: Any) -> None:
        super().__init__(**common)
        self._sender = sender
        self._channel = (self.source, self.target)
        self._tuples_route, self._batch_route, self._marker_route = (
            Route(target=self.target, source=self.source, stream=self.edge, assignment=assignment, flags=kind)
            for kind in (FrameKind.TUPLES, FrameKind.BATCH, FrameKind.MARKER)
        )

    def flush(self, origin_ns: int, now_ns: int) -> list[Refusal]:
        """See Lane. Most often it is one frame of plain values of no tree: that takes the short way."""
        tuples = self.tuples
        if not 0 < len(tuples) <= MOST_FRAME_TUPLES or self.before or self.tracking is not None:
            return super().flush(origin_ns, now_ns)
        if self._send_plain(origin_ns, now_ns, UNTRACKED, (), tuples) != ROWS_PLAIN:
            return super().flush(origin_ns, now_ns)
        return []

    def _pass_checked(self, some: RootedTuples, origin_ns: int, now_ns: int, refused: list[Refusal]) -> None:
        """Encodes plain values in the pass that looks at them. What is not plain, or wrong, is looked at again."""
        tuples, runs = some
        frame = self._new_frame()
        verdict = self._send_plain(origin_ns, now_ns, frame, runs, tuples)
        if verdict == ROWS_PLAIN:
            self._count(runs, frame)
        elif verdict == ROWS_TOO_LARGE and len(tuples) > 1:
            for half in _split(some, len(tuples) // 2):
                self._pass_checked(half, origin_ns, now_ns, refused)
        else:
            super()._pass_checked(some, origin_ns, now_ns, refused)

    def _send_plain(self, origin_ns: int, now_ns: int, frame: int, runs: Runs, tuples: list[Values]) -> int:
        """Takes tuples of plain values out of a list, and sends them.

        Returns ROWS_PLAIN, or which of the others has kept it from that: then they are in the list still.
        """
        direct, width = self._sender.direct, len(self._fields)
        if direct is None:
            sent = encode_tuples(origin_ns, now_ns, frame, runs, tuples, width, self.most_frame_bytes)
        else:
            try:
                sent = direct.writer.try_write_tuples(
                    self._tuples_route, origin_ns, now_ns, frame, runs, tuples, width, self.most_frame_bytes
                )
            except RingClosedError:  # the sender will find out, and lose it as it should be lost
                sent = encode_tuples(origin_ns, now_ns, frame, runs, tuples, width, self.most_frame_bytes)
        if not isinstance(sent, bytes) and sent > 0:
            return sent
        count = len(tuples)
        tuples.clear()  # whatever is raised from here on, they are not sent again
        if isinstance(sent, bytes):
            self._send(self._tuples_route, sent, count)
        else:
            self.sent_tuples += count
            self.sent_bytes -= sent
            assert direct is not None
            direct.count_sent(self._channel, -sent)
        return ROWS_PLAIN

    def _pass_tuples(self, some: RootedTuples, origin_ns: int, now_ns: int, refused: list[Refusal]) -> None:
        try:
            self._pass_rows(portable_rows(some.tuples), some.runs, origin_ns, now_ns, refused)
        except UNENCODABLE:
            self._pass_rows(*self._portable(some, refused), origin_ns, now_ns, refused)

    def _pass_rows(self, rows: Sequence[Any], runs: Runs, origin_ns: int, now_ns: int, refused: list[Refusal]) -> None:
        """Encodes all before it sends any: if one of them cannot be encoded, none was sent."""
        frame = self._new_frame()
        payload = _encode((origin_ns, now_ns, frame, runs, rows))
        if len(payload) > self.most_frame_bytes and len(rows) > 1:
            middle = len(rows) // 2
            first, rest = split_runs(runs, middle)
            self._pass_rows(rows[:middle], first, origin_ns, now_ns, refused)
            self._pass_rows(rows[middle:], rest, origin_ns, now_ns, refused)
        elif len(payload) > MOST_TUPLE_BYTES:
            refused.append(_too_large(payload, runs[0][0] if runs else UNTRACKED))
        elif rows:
            self._count(runs, frame)
            self._send(self._tuples_route, payload, len(rows))

    def _portable(self, some: RootedTuples, refused: list[Refusal]) -> tuple[list[list[Any]], Runs]:
        """Those that can travel, as they travel. Looked for one by one, and only when not all can."""
        good, roots = [], []
        for values, root in _each(some):
            try:
                travelling = [*map(portable, values)]
                _encode(travelling)
            except UNENCODABLE:
                refused.append(Refusal(_untravelled(self._fields, values), values, root))
            else:
                good.append(travelling)
                roots.append(root)
        return good, self._runs_of(roots)

    def _pass_batch(
        self, batch: pa.RecordBatch, root: int, origin_ns: int, now_ns: int, refused: list[Refusal]
    ) -> None:
        frame = self._new_frame()
        payload = batch_to_payload(batch, origin_ns, now_ns, frame, root)
        if len(payload) > self.most_frame_bytes and batch.num_rows > 1:
            middle = batch.num_rows // 2
            self._pass_batch(batch.slice(0, middle), root, origin_ns, now_ns, refused)
            self._pass_batch(batch.slice(middle), root, origin_ns, now_ns, refused)
        elif len(payload) > MOST_TUPLE_BYTES:
            refused.append(_too_large(payload, root))
        else:
            self._count(((root, 1),), frame)
            self._send(self._batch_route, payload, batch.num_rows)

    def _send(self, route: Route, payload: bytes, tuples: int) -> None:
        self.sent_tuples += tuples
        self.sent_bytes += len(payload)
        self._sender.send(route, payload, tuples)

    def put_marker(self, marker: Marker) -> None:  # noqa: D102
        self._sender.send(self._marker_route, marker.to_payload(), 0)


def _too_large(payload: bytes, root: int) -> Refusal:
    message = f"a tuple is too large to travel to another worker: wanted at most {MOST_TUPLE_BYTES} bytes"
    return Refusal(MessageTooLargeError(message), f"{len(payload)} bytes", root)


def _untravelled(fields: Sequence[str], values: Values) -> TypeError:
    """Says which field it is. Without a traceback, whose frames would all be ours and help nobody."""
    named = zip(fields, values, strict=True)
    field, value, why = next((field, value, why) for field, value in named if (why := why_it_stays(value)))
    # The type comes first: where only the beginning is shown, that is what should be in it.
    return TypeError(f"field {field!r}, a {type(value).__qualname__}, cannot travel to another worker: {why}")
