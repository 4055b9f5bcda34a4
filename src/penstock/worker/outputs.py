"""Where a task's emissions go: its named streams, each with its subscribers' lanes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from penstock._native import ByFunction, Emitter, Routing, Shared, ShareTaker
from penstock.flow.credit import Channel
from penstock.flow.two_choices import TwoChoices
from penstock.topology.emit import DEFAULT_STREAM, Emit, is_record_batch, not_an_output
from penstock.topology.groupings import Custom, Direct, Grouping, LocalOrShuffle, PartialKey, Shuffle
from penstock.topology.tuples import Tuple
from penstock.worker.arrival import Marker
from penstock.worker.batch_routing import split_batch
from penstock.worker.failures import USER_ERRORS
from penstock.worker.in_turn import InTurn, Watch
from penstock.worker.lanes import Lane, Refusal, RemoteLane
from penstock.worker.routing import Values, compile_grouping, fan_out
from penstock.worker.row_choice import RowChoice

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FIRST_PIECE_TUPLES", "Outputs", "Refuse", "Subscriber"]

Refuse = Callable[[BaseException, Any], None]
"""Is told why an output could not be emitted, and which."""


FIRST_PIECE_TUPLES = 256
"""How much of what one call emits is emitted at a time, before it is known how large its tuples are."""

# These can be iterated over, yet nobody means their characters, bytes and keys as tuples.
_NEVER_MANY = (str, bytes, bytearray, memoryview, dict)
_ONE = (Emit, tuple, Tuple, *_NEVER_MANY)  # and what cannot be iterated over, such as a record batch


class Subscriber:
    """One edge out of a task: the grouping and the lanes to all tasks of the subscribing bolt, in order.

    `watch` is what is known of those tasks; None: nothing.
    """

    def __init__(
        self,
        grouping: Grouping,
        lanes: Sequence[Lane],
        fields: Sequence[str],
        *,
        watch: Watch | None = None,
        help_lane: Lane | None = None,
    ) -> None:
        self.grouping = grouping
        self.lanes = lanes
        self.watch = watch
        self.help_lane = help_lane
        """To a helper in this worker, if it can have one."""
        self.turns = InTurn(grouping, lanes, watch) if isinstance(grouping, Shuffle | LocalOrShuffle) else None
        """Whose turn it is, if it is a shuffle."""
        choices = TwoChoices(len(lanes))  # the same for tuples and for rows of record batches
        self._routing = compile_grouping(grouping, lanes, fields, choices) if self.turns is None else self.turns.routing
        self._taker = ShareTaker(0.0)
        by_row = isinstance(grouping, PartialKey | Custom | Direct)  # which decide by row, or refuse
        self._row_choice = RowChoice(grouping, lanes, fields, choices) if by_row else None

    @property
    def share(self) -> float:
        """Which share of its tuples goes to the helper."""
        return self._taker.share

    @share.setter
    def share(self, share: float) -> None:
        if share != self._taker.share:
            self._taker = ShareTaker(share)

    @property
    def routing(self) -> Routing:
        """How its tuples are shared out."""
        if self.help_lane is None or not self.share:
            return self._routing
        return Shared(self._routing, self.help_lane.tuples, self._taker)

    def has_room(self, exhausted: set[Channel]) -> bool:
        """Of a shuffle: whether there is anywhere to go for the next tuples."""
        assert self.turns is not None
        share = self.share
        if share and self.help_lane is not None and (self.help_lane.source, self.help_lane.target) in exhausted:
            return False
        return share == 1 or self.turns.has_room(exhausted)

    def look(self, now_ns: int) -> None:
        """Of a shuffle: takes a look at the targets now and then."""
        assert self.turns is not None
        self.turns.look(now_ns)

    def put_batch(self, batch: pa.RecordBatch) -> None:
        """Puts the rows of a record batch where they belong, as record batches where that is possible."""
        if self.help_lane is not None and self.share and (taken := self._taker.take(batch.num_rows)):
            self.help_lane.put_batch(batch.slice(0, taken))
            batch = batch.slice(taken)
            if not batch.num_rows:
                return
        by_itself = self.turns or self._row_choice
        if by_itself is not None:
            by_itself.put_batch(batch)
            return
        for lane, part in split_batch(self.grouping, self.lanes, batch):
            lane.put_batch(part)

    def lane_to(self, task: int) -> Lane:
        """The lane that an output with ``task=`` takes."""
        if not isinstance(self.grouping, Direct):
            message = f"Emit(task={task}) wants a subscriber by direct(), got {self.grouping!r}"
            raise ValueError(message)
        if not 0 <= task < len(self.lanes):
            message = f"Emit(task={task}): the subscriber has {len(self.lanes)} tasks, from 0"
            raise ValueError(message)
        return self.lanes[task]


class _Stream:
    """One of a task's streams."""

    def __init__(self, fields: Sequence[str], subscribers: list[Subscriber]) -> None:
        self.fields = list(fields)
        self.subscribers = subscribers
        self.routing = fan_out([subscriber.routing for subscriber in subscribers])

    def replace(self, old: Subscriber, new: Subscriber) -> None:
        self.subscribers[self.subscribers.index(old)] = new
        self.take_up()

    def take_up(self) -> None:
        self.routing = fan_out([subscriber.routing for subscriber in self.subscribers])

    def put(self, values: Values, task: int | None) -> None:
        if task is None:
            self.routing.put(values)
            return
        for lane in [subscriber.lane_to(task) for subscriber in self.subscribers]:
            lane.append(values)

    def put_batch(self, batch: pa.RecordBatch, task: int | None) -> None:
        if batch.schema.names != self.fields:
            message = f"emitted a record batch with the columns {batch.schema.names}, wanted {self.fields}"
            raise ValueError(message)
        if not batch.num_rows:
            return
        for subscriber in self.subscribers:
            if task is None:
                subscriber.put_batch(batch)
            else:
                subscriber.lane_to(task).put_batch(batch)


class Outputs(Emitter):
    """All that a task can emit to. What it emits waits in the lanes until it is flushed.

    What one call of user code emits has no bound. So it can be emitted in pieces (`emit_in_pieces`, `emit_some`,
    `run_calls`): each is flushed, and the next one emitted when those that it is for have room.

    The loops over outputs are the emitter's, in C++. It comes back here with what is not a plain tuple.
    """

    def __init__(
        self, component: str, streams: dict[str, tuple[str, ...]], subscribers: dict[str, list[Subscriber]]
    ) -> None:
        super().__init__(USER_ERRORS)
        self._component = component
        self._streams = {name: _Stream(fields, subscribers.get(name, [])) for name, fields in streams.items()}
        self.piece_tuples = self._most_piece_tuples = FIRST_PIECE_TUPLES
        self._most_piece_bytes = 0
        self._take_up()

    def _take_up(self) -> None:
        default = self._streams.get(DEFAULT_STREAM)
        self.routing = ByFunction(self._refuse_default) if default is None else default.routing
        self.lanes = [lane for one in self.subscribers for lane in one.lanes]
        """Those to other tasks."""
        self._help_lanes = [one.help_lane for one in self.subscribers if one.help_lane is not None]
        self.all_lanes = [*self.lanes, *self._help_lanes]
        """Those to helpers, too, which belong to this task."""
        self.channels = _channels_of(self.lanes)
        self.remote_channels = _channels_of(lane for lane in self.lanes if lane.__class__ is RemoteLane)
        """Those whose credit is counted by task."""
        self.leaves_worker = not self._help_lanes and all(lane.__class__ is RemoteLane for lane in self.lanes)
        """Whether nobody in this worker is given anything."""
        self._is_short = True
        """Whether a shuffle may have left out targets that had no room."""
        self._shuffles = [one for one in self.subscribers if one.turns is not None]
        self._needed = _channels_of(lane for one in self.subscribers if one.turns is None for lane in one.lanes)
        """The channels that it cannot do without: each of them may be where the next tuple has to go."""

    @property
    def subscribers(self) -> list[Subscriber]:
        """All edges out of the task."""
        return [one for stream in self._streams.values() for one in stream.subscribers]

    def relay(self, old: Subscriber, lanes: Sequence[Lane]) -> None:
        """From now on an edge leads over other lanes. What was put into the old ones has been flushed."""
        for stream in self._streams.values():
            if old in stream.subscribers:
                new = Subscriber(old.grouping, lanes, stream.fields, watch=old.watch, help_lane=old.help_lane)
                new.share = old.share
                stream.replace(old, new)
        self._take_up()

    def add_help(self, edge: int, lane: Lane) -> None:
        """What is emitted on an edge may go to a helper instead."""
        for one in self.subscribers:
            if one.lanes[0].edge == edge:
                one.help_lane = lane
        self._take_up()

    def share(self, edge: int) -> float:
        """Which share of what is emitted on an edge goes to the helper."""
        return next((one.share for one in self.subscribers if one.lanes[0].edge == edge), 0.0)

    def set_share(self, edge: int, share: float) -> None:
        """From now on, this share of what is emitted on an edge goes to the helper."""
        for stream in self._streams.values():
            for one in stream.subscribers:
                if one.lanes[0].edge == edge and one.share != share:
                    one.share = share
                    stream.take_up()
        self._take_up()

    def emit(self, out: Any) -> None:
        """Emits what user code returned: a tuple, an Emit, a record batch, or an iterable of these."""
        if out.__class__ is tuple:
            self.put(out)
        elif out.__class__ is list:  # what a spout gives of one tree
            self.emit_all(out)
        elif isinstance(out, Emit | tuple | Tuple) or is_record_batch(out):
            self.emit_other(out)
        elif isinstance(out, _NEVER_MANY) or not isinstance(out, Iterable):
            raise not_an_output(out)
        else:
            self.emit_all(out)

    def bound_pieces(self, *, most_tuples: int, most_bytes: int) -> None:
        """From now on, a piece has no more than these: where tuples are large, fewer."""
        self._most_piece_tuples, self._most_piece_bytes = most_tuples, most_bytes
        self.piece_tuples = min(FIRST_PIECE_TUPLES, most_tuples)

    def fit_pieces(self) -> None:
        """The size of pieces is that of the tuples that were sent so far. Within a worker tuples have no size."""
        remote = [lane for lane in self.lanes if lane.sent_bytes]
        size_bytes = sum(lane.sent_bytes for lane in remote)
        fitting = self._most_piece_bytes * sum(lane.sent_tuples for lane in remote) // size_bytes if remote else None
        most = self._most_piece_tuples
        self.piece_tuples = most if fitting is None else max(1, min(most, fitting))

    def emit_in_pieces(self, out: Any, refuse: Refuse) -> Iterable[None]:
        """Emits what user code returned, as `emit` does. If that may be much, what this returns does it, in pieces."""
        if out.__class__ is list and len(out) <= self.piece_tuples:
            self.emit_all(out)
            return ()
        outputs = self.iterator_of(out)
        return () if outputs is None else self._pieces_of(outputs, refuse)

    def iterator_of(self, out: Any) -> Iterator[Any] | None:
        """What user code returned, if that may be many outputs; what is one is emitted."""
        if isinstance(out, _ONE) or not isinstance(out, Iterable):
            self.emit(out)
            return None
        return iter(out)

    def _pieces_of(self, outputs: Iterator[Any], refuse: Refuse) -> Iterator[None]:
        while self.emit_some(outputs, refuse):
            yield

    def emit_other(self, output: Any) -> None:
        """Emits one output that is not a plain tuple."""
        if isinstance(output, Emit):
            self._emit_named(output)
        elif isinstance(output, tuple | Tuple):  # a named tuple, or what came in passed on
            self.put(tuple(output))
        elif is_record_batch(output):
            self._emit_named(Emit(output))
        elif output is not None:
            raise not_an_output(output)

    def _emit_named(self, emit: Emit) -> None:
        stream = self._streams.get(emit.stream)
        if stream is None:
            message = f"{self._component!r} has no stream {emit.stream!r}; it has {sorted(self._streams)}"
            raise ValueError(message)
        values = emit.values
        if is_record_batch(values):
            stream.put_batch(values, emit.task)
            self.emitted += values.num_rows
        elif isinstance(values, tuple | list | Tuple):
            stream.put(tuple(values), emit.task)
            self.emitted += 1
        else:
            raise not_an_output(values)

    def _refuse_default(self, values: Values) -> None:
        message = f"{self._component!r} declares no fields, so it cannot emit {values!r}"
        raise ValueError(message)

    def has_stream(self, name: str) -> bool:
        """Whether anybody takes the stream of this name."""
        return name in self._streams and bool(self._streams[name].subscribers)

    def blocked_by(self, exhausted: set[Channel]) -> bool:
        """Whether what is emitted may have to go where there is no room. A shuffle does with any of its targets."""
        if not exhausted and not self._is_short:  # the usual case, asked several times a turn
            return False
        self._is_short = bool(exhausted)
        if not exhausted.isdisjoint(self._needed):
            return True
        return not all(one.has_room(exhausted) for one in self._shuffles)

    def flush(self, origin_ns: int, now_ns: int) -> list[Refusal]:
        """Passes everything on, but for what is refused."""
        refused: list[Refusal] = []
        for lane in self.all_lanes:
            if lane.tuples or lane.before:
                refused += lane.flush(origin_ns, now_ns)
        for one in self._shuffles:
            one.look(now_ns)
        return refused

    def put_marker(self, marker: Marker) -> None:
        """Sends a marker down every lane, behind everything that was flushed."""
        for lane in self.all_lanes:
            lane.put_marker(marker)


def _channels_of(lanes: Iterable[Lane]) -> frozenset[Channel]:
    return frozenset((lane.source, lane.target) for lane in lanes)
