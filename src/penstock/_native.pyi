"""The native core. penstock.transport.ring is the door to the ring; the rest is used as it is."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import zmq
from typing_extensions import Buffer

class Route:
    """Where a record goes and comes from. Make it once and keep it out of loops."""

    def __init__(
        self, *, target: int = 0, source: int = 0, stream: int = 0, assignment: int = 0, flags: int = 0
    ) -> None: ...
    @property
    def target(self) -> int: ...
    @property
    def source(self) -> int: ...
    @property
    def stream(self) -> int: ...
    @property
    def assignment(self) -> int: ...
    @property
    def flags(self) -> int: ...

class Record:
    """What was written in one go: a route, and one or many payloads.

    A small payload is bytes. A large one is a memoryview lent straight from the ring: it stays valid as long as it is
    kept, and its space comes back when it is dropped.
    """

    @property
    def target(self) -> int: ...
    @property
    def source(self) -> int: ...
    @property
    def stream(self) -> int: ...
    @property
    def assignment(self) -> int: ...
    @property
    def flags(self) -> int: ...
    @property
    def producer(self) -> int:
        """The slot of the producer that wrote it."""
    @property
    def payloads(self) -> list[bytes | memoryview]:
        """Its messages: one for write, as many as were packed together for write_many."""
    @property
    def payload(self) -> bytes | memoryview:
        """Its only message; ValueError if it holds another number."""

class ReadEnd:
    def __init__(
        self,
        *,
        memory_fd: int | None = None,
        capacity_bytes: int,
        max_producers: int,
        max_message_bytes: int,
        nonce: int,
        max_spin_ns: int,
        pid: int,
        start_time: int,
        pid_namespace: int,
    ) -> None: ...
    def read_many(self, max_records: int = 256, timeout_s: float | None = None) -> list[Record]:
        """Waits for the first record, then takes what is there; empty if none came in time.

        What was handed out before counts as done. `timeout_s=None` waits for ever, 0 does not wait. While the bell is
        rung it does not wait either: it takes the records that are there, perhaps none, and leaves the bell rung.
        """
    def read_fast(self, fast_path: FastPath, max_records: int = 256, timeout_s: float | None = None) -> list[Record]:
        """As `read_many`, but the fast path works on what it can, here and at once.

        It goes on so until there is a record that it cannot work on, the bell is rung, or time is up. Returns that
        record and those behind it.
        """
    def finish(self) -> None:
        """Says that what was handed out is done with, without asking for more."""
    def ring_bell(self, bits: int) -> None:
        """Wakes the reading thread for another reason than a record, and leaves `bits` for it; any thread may.

        Bits that were rung and not taken add up. Does nothing when the reader is closed.
        """
    def take_bell(self) -> int:
        """Returns all bits that were rung since the bell was last taken, and clears them; 0 if there are none."""
    def close_to_writers(self) -> None:
        """No write succeeds from now on; what is written can still be read."""
    def abandon(self) -> None: ...
    def native_counters(self) -> dict[str, int]: ...
    def native_stalls(self) -> list[tuple[int, int, int, int]]: ...
    def admit(self, pid: int, start_time: int) -> int | None: ...
    def retire(self, slot: int) -> None: ...
    def live_slots(self) -> list[tuple[int, int, int]]: ...
    @property
    def drained(self) -> bool:
        """Everything that was ever claimed is read, and its space is back."""
    @property
    def memory_fd(self) -> int:
        """The ring's memory: whoever has it can resume the ring when this reader has died."""
    @property
    def capacity_bytes(self) -> int: ...
    @property
    def max_message_bytes(self) -> int: ...
    @property
    def nonce(self) -> int: ...

class LargeSend:
    """A large message on its way, moved along by its sender."""

    def advance(self) -> bool:
        """Sends what there is room for; True once the reader has taken the message whole."""

class WriteEnd:
    def __init__(self, *, memory_fd: int, slot: int, door_fd: int) -> None: ...
    def try_write(self, payload: Buffer, route: Route) -> bool:
        """Writes one record if there is room for it now; False if the ring is full. Never waits."""
    def try_write_tuples(
        self,
        route: Route,
        origin_ns: int,
        sent_ns: int,
        frame: int,
        runs: Sequence[tuple[int, int]],
        rows: list[tuple[object, ...]],
        width: int,
        most_bytes: int,
    ) -> bytes | int:
        """Encodes a TUPLES frame and writes it as a record, if there is room for it now. Never waits.

        Returns minus its bytes if it is written; its payload if not, for lack of room, or because it is larger than a
        record; or which of ROWS_OTHER, ROWS_UNEVEN and ROWS_TOO_LARGE keeps it from having one: see `encode_tuples`.
        """
    def write(self, payload: Buffer, route: Route, timeout_s: float | None = None) -> None:
        """Writes one message, waiting for room.

        One larger than an eighth of the ring travels in packets, and this returns when the reader has taken it whole.
        Raises RingFullError at the timeout, RingClosedError if the ring is closed or its reader gone.
        """
    def write_many(self, payloads: Sequence[Buffer], route: Route, timeout_s: float | None = None) -> None:
        """Writes many messages in as few records as they fit in.

        At the timeout, RingFullError.written says how many went.
        """
    def send_large(self, payload: Buffer, route: Route) -> LargeSend:
        """Starts a message that may be larger than a record and leaves it to the caller to move it along.

        For loops that must not wait. One at a time per writer; the payload is held until it is settled.
        """
    def ring_bell(self, bits: int) -> None:
        """Wakes the reader for another reason than a record, and leaves `bits` for it: see RingReader.take_bell.

        Needs no room in the ring. Does nothing when this writer is closed.
        """
    def leave(self) -> None: ...
    def abandon(self) -> None: ...
    def meet_consumer(self, door_fd: int) -> None: ...
    def native_counters(self) -> dict[str, int]: ...
    @property
    def consumer_gone(self) -> bool:
        """Whether the reader's process has gone, or has closed its door."""
    @property
    def closed(self) -> bool: ...
    @property
    def max_record_bytes(self) -> int:
        """The longest payload that one record holds: what try_write takes. An eighth of the ring, less a header."""
    @property
    def slot(self) -> int: ...
    @property
    def memory_fd(self) -> int: ...
    @property
    def nonce(self) -> int: ...

class DescriptorWatch:
    def __init__(self, ring: ReadEnd) -> None: ...
    def add(self, fd: int, bits: int) -> None:
        """Rings `bits` once when `fd` can be read, has failed, or its other end is closed.

        Raises OSError if it cannot be watched (PermissionError: a regular file) or is already (FileExistsError).
        """
    def rearm(self, fd: int) -> bool:
        """Rings once more, at once if there is still something to read; False if it is not watched, or was closed."""
    def remove(self, fd: int) -> None:
        """Forgets `fd`, if it is watched. What came before may still ring."""
    def close(self) -> None: ...
    @property
    def closed(self) -> bool: ...

LINK_HEAD_BYTES: int

def pack_link_head(link: int, number: int, route: Route) -> bytes:
    """What stands in front of a frame's payload on a link: which link, its number there, its route."""

class LinkIntake:
    """Takes frames that came over links into a ring, as one more producer: in the name of a writer that is idle."""

    def __init__(self, writer: WriteEnd) -> None: ...
    def take(self, frame: Buffer, parts: int) -> bool:
        """Takes up a message, given the first of its parts; False if it is refused, and counted."""
    def deliver(self, timeout_s: float) -> bool:
        """Writes what there is room for of the frame, and waits for more room once; whether the ring has all of it.

        Gives up the interpreter lock. Raises RingClosedError if the ring is closed.
        """
    def close(self) -> None:
        """Lets go of the ring. What was counted can still be asked for."""
    @property
    def refused(self) -> int:
        """How many were no frames, or such as the ring never takes."""
    @property
    def first_refusal(self) -> str | None:
        """Why the first of them was refused."""
    @property
    def lost(self) -> int:
        """How many frames are missing from the links, by their numbers."""

class ZeroMq:
    """The functions of the libzmq that a file, which is loaded already, is linked to.

    Raises RuntimeError if they are not all there.
    """

    def __init__(self, library: str) -> None: ...
    @property
    def version(self) -> tuple[int, int, int]: ...

class LinkThread:
    """Receives frames from one socket and answers at the gate, and never needs the interpreter lock.

    Until it is closed it alone uses both sockets and the intake, and keeps them from being collected.
    """

    def __init__(
        self,
        zeromq: ZeroMq,
        intake: LinkIntake,
        frames: zmq.Socket[bytes],
        gate: zmq.Socket[bytes],
        *,
        domain: bytes,
        admitted: bytes,
    ) -> None: ...
    def check(self) -> None:
        """Raises what has ended the thread, if anything but `close` has."""
    def close(self) -> None:
        """Ends the thread and waits for its end; in a forked child, only closes its copies. Twice does nothing."""

def consumer_of(memory_fd: int) -> tuple[int, int, int]:
    """(pid, start time, pid namespace) of the process that reads, or last read, the ring behind a descriptor."""

class Histogram:
    """A log-linear (HDR) histogram of latencies in nanoseconds.

    Reported values are never below the true one and less than 1 / 2**significant_bits of it above (7 bits:
    0.78 %); values below 2**(significant_bits + 1) are exact, and so are count, min, max and mean. Values above
    highest_ns are counted in the last bucket, reported as highest_ns and counted as saturated.
    """

    def __init__(self, *, significant_bits: int = 7, highest_ns: int = 3600000000000) -> None:
        """Make an empty histogram; significant_bits is 1 to 14, highest_ns at least 1."""
    def record(self, value_ns: int, count: int = 1) -> None:
        """Count the value, as if it were recorded `count` times."""
    def record_many(self, values_ns: Buffer) -> None:
        """Record a contiguous buffer of int64 or uint64, all of it or, if it is refused, nothing."""
    def percentile(self, p: float) -> int:
        """Return the smallest recorded value v with at least p % of the values <= v, rounded up within the bound."""
    def merge(self, other: Histogram) -> None:
        """Add all that `other` has counted; its shape must be the same."""
    def reset(self) -> None:
        """Forget everything recorded; keep the shape."""
    def copy(self) -> Histogram:
        """Return an independent histogram with the same content."""
    def to_bytes(self) -> bytes:
        """Return a compact, versioned form; equal histograms have equal bytes."""
    @staticmethod
    def from_bytes(data: Buffer) -> Histogram:
        """Return the histogram that to_bytes() wrote; ValueError if these are not such bytes."""
    def buckets(self) -> list[tuple[int, int, int]]:
        """Return the buckets in use, ascending: (lowest value, highest value, count)."""
    @property
    def count(self) -> int:
        """How many values."""
    @property
    def saturated(self) -> int:
        """How many of them were above highest_ns."""
    @property
    def min(self) -> int:
        """Smallest value, exactly."""
    @property
    def max(self) -> int:
        """Largest value, exactly."""
    @property
    def mean(self) -> float:
        """Mean of the values as given."""
    @property
    def significant_bits(self) -> int:
        """Every power of two has 2**significant_bits buckets."""
    @property
    def highest_ns(self) -> int:
        """The highest value that is told apart from larger ones."""

ROWS_PLAIN: int
"""All rows are tuples of the right width, and all values of types that msgpack knows and keeps."""
ROWS_OTHER: int
"""All rows are tuples of the right width; some values are of other types."""
ROWS_UNEVEN: int
"""Some rows are no tuples of the right width."""

ROWS_TOO_LARGE: int
"""Encoded, the rows take more bytes than they may. What is wrong beyond that is not known."""

class TupleDecoder:
    """Reads the TUPLES frames of one edge: origin_ns, sent_ns, the frame's number, the trees, the tuples.

    Args:
        made: the class of the tuples, of slots and without gc.
        fields: its fields, in order.
        other: reads payloads that hold anything but None, bool, int, float, str and bytes, or raises.
    """

    def __init__(self, made: type[Any], fields: Sequence[str], other: Callable[[Any], Any]) -> None: ...
    def __call__(self, payload: Buffer) -> Any: ...

class KeyReader:
    """From tuples of one class to their keys: a field's value, or a tuple of several.

    Args:
        made: the class of the tuples.
        fields: the fields of the key.
        canonical: from keys, some of which are not text, whole numbers, bytes or None, to those that stand for them.
    """

    def __init__(self, made: type[Any], fields: Sequence[str], canonical: Callable[[list[Any]], list[Any]]) -> None: ...
    def __call__(self, tuples: Sequence[Any]) -> list[Any]: ...

def encode_tuples(
    origin_ns: int,
    sent_ns: int,
    frame: int,
    runs: Sequence[tuple[int, int]],
    rows: list[tuple[object, ...]],
    width: int,
    most_bytes: int,
) -> bytes | int:
    """The payload of a TUPLES frame, byte for byte as msgspec would have it; or which of the above keeps it from that.

    For rows of `width` plain values alone: None, bool, int of 64 bits, float, str and bytes, of exactly these types.
    """

FAST_KIND: int
"""The kind of frames that the fast path works on."""

class FastTask:
    """A bolt, as the fast path knows it."""

    def __init__(
        self,
        *,
        bolt: Any,
        outputs: Emitter,
        process: Callable[..., object],
        fail: Callable[[BaseException, Any], None],
        latency: Histogram,
        yields: bool,
        has_news: bool,
        begin_tree: Callable[[list[tuple[int, int]]], None] | None = None,
        end_tree: Callable[[list[tuple[int, int]], int], None] | None = None,
    ) -> None: ...

    room: int
    """How many tuples may be worked on before Python has its turn."""
    most: int
    """How many tuples a frame may have."""

class FastPath:
    """Works on frames where they are read: see penstock.worker.fast_path, which answers what it asks."""

    def __init__(
        self,
        *,
        ready: Callable[[int], FastTask | None],
        channel: Callable[..., tuple[Any, ...] | None],
        flush: Callable[[Any, int, int], bool],
        unfinished: Callable[..., None],
        now_ns: Callable[[], int] | None = None,
    ) -> None: ...
    def begin(self) -> None:
        """Python has had its turn: whatever was asked before it has to be asked again."""
    def take(self, route: Route, payload: Buffer) -> bool:
        """Works on a frame, if it may. False: it is for Python, and so is all that follows it."""
    def flush(self) -> None:
        """Sends what was emitted."""
    def take_done(self) -> list[tuple[Any, int, list[tuple[int, int, int, int, int]]]]:
        """What was done since the last time, by task: its bolt, how long it took in ns, and what came on each channel.

        Of a channel: the edge, the source, the assignment, the tuples, the bytes.
        """
    def take_waited_ns(self) -> int:
        """How long its reader has slept since the last time."""
    @property
    def wants_python(self) -> bool:
        """Whether something was done that wants a turn of the worker."""
    @property
    def frames(self) -> int:
        """How many frames were worked on since `begin`."""
    @property
    def current(self) -> Any:
        """The bolt whose user code runs just now, or None."""

def judge_rows(rows: list[tuple[object, ...]], width: int) -> int:
    """What rows are made of: one of the above."""

def all_tuples(items: list[object]) -> bool:
    """Whether all items are plain tuples, and not of a subclass."""

class Routing:
    """A grouping, compiled: puts tuples into the lists of the lanes that they belong to."""

    def put(self, values: tuple[Any, ...]) -> None:
        """Puts a tuple where it belongs."""

class ToEach(Routing):
    """Into each of these lists."""

    def __init__(self, lists: Iterable[list[tuple[Any, ...]]]) -> None: ...

class Cycle(Routing):
    """Into these lists in turn."""

    def __init__(self, lists: Iterable[list[tuple[Any, ...]]]) -> None: ...
    def take_up(self, order: Iterable[int]) -> None:
        """From now on in this order, from its beginning."""

class ByKey(Routing):
    """By the values at these positions: one is the key itself, several are a tuple.

    A key belongs to the list that its stable hash, modulo their number, is the index of. That of a short text is taken
    here; any other is looked up in `remembered`, and asked of `index_of` if it is not found there.
    """

    def __init__(
        self,
        lists: Iterable[list[tuple[Any, ...]]],
        positions: Iterable[int],
        remembered: dict[Any, int],
        index_of: Callable[[Any], int],
    ) -> None: ...

class ByFunction(Routing):
    """Wherever a function puts it."""

    def __init__(self, put: Callable[[tuple[Any, ...]], object]) -> None: ...

class ShareTaker:
    """Takes a share of what comes, as evenly as whole tuples allow, and the same each time."""

    def __init__(self, share: float) -> None: ...
    def take(self, count: int) -> int:
        """How many of so many tuples are in it."""
    @property
    def share(self) -> float: ...

class Shared(Routing):
    """A share into a list, and the rest by another grouping."""

    def __init__(self, plain: Routing, list: list[tuple[Any, ...]], taker: ShareTaker) -> None: ...

class FanOut(Routing):
    """By each of these."""

    def __init__(self, routings: Iterable[Routing]) -> None: ...

class Calls:
    """Calls of user code that have given more than a piece."""

    def go_on(self) -> bool:
        """Goes on until the next piece is full, or all is done; whether there may be more."""

class Emitter:
    """The loop that emits. Its subclass, penstock.worker.outputs.Outputs, knows what is not a plain tuple.

    For that it has `emit_other(output)`, which emits one output, and `iterator_of(out)`, which gives an iterator over
    what may be many, or emits it and gives None. `user_errors` are what user code may raise without an end to the loop.
    """

    def __init__(self, user_errors: tuple[type[BaseException], ...]) -> None: ...

    emitted: int
    """How many tuples it has emitted."""
    piece_tuples: int
    """How many tuples make a piece."""
    routing: Routing
    """That of the default stream."""

    def put(self, values: tuple[Any, ...]) -> None:
        """Puts one plain tuple on the default stream, and counts it."""
    def emit_all(self, outputs: Iterable[Any]) -> None:
        """Emits all of them, up to the first that cannot be. What the iterable raises comes through."""
    def emit_each(self, outputs: list[Any], refuse: Callable[[BaseException, Any], None]) -> None:
        """Emits all of them. One that cannot be emitted is told to `refuse`, and does not hold up the others."""
    def emit_some(self, outputs: Iterator[Any], refuse: Callable[[BaseException, Any], None]) -> bool:
        """Emits outputs until a piece is full, or there are no more; whether there may be more.

        What the iterator raises comes through; what came before is emitted.
        """
    def run_calls(
        self,
        process: Callable[..., object],
        tuples: Sequence[Any],
        keys: Sequence[Any] | None,
        fail: Callable[[BaseException, Any], None],
        yields: bool,
    ) -> Calls | None:
        """Calls `process(tuple)`, or `process(key, tuple)`, for one tuple after another, and emits what that gives.

        Returns None when all is done, and what goes on with it when a piece is full. An exception of user code is told
        to `fail` with the tuple, and the next one follows. `yields` says that every call gives an iterator: then a
        piece is of whatever they yield, one after another.
        """

class ColumnReader:
    """Makes tuples of one class out of the columns of record batches.

    Args:
        made: the class of the tuples, of slots and without gc.
        fields: its fields, in order.
    """

    def __init__(self, made: type[Any], fields: Sequence[str]) -> None: ...
    def read(self, columns: tuple[object, object], others: Sequence[list[Any] | None], most: int) -> TupleChunks:
        """A tuple for each row, in lists of `most` at most.

        Args:
            columns: what the record batch gives by `__arrow_c_array__()`.
            others: for each column None, or a list of its values where it is not of null, bool, ints, floats up to 64
                bits, text or binary.
            most: how many tuples a list has.

        Raises:
            ValueError: there are more or fewer columns than fields, or one is of a type that is not read here.
        """

class TupleChunks:
    """An iterator over lists of tuples."""

    def __iter__(self) -> TupleChunks: ...
    def __next__(self) -> list[Any]: ...

class RowGatherer:
    """Gathers rows into the buffers of Arrow columns.

    Args:
        columns: for each column the position of its value in a row, its kind, and whether it may be null. Kinds are
            those of the struct module, b, h, i, q, f, d and ?, and u for text, z for bytes.
    """

    def __init__(self, columns: Sequence[tuple[int, str, bool]]) -> None: ...
    @property
    def rows(self) -> int:
        """How many rows were gathered."""
    def append(self, rows: Sequence[Any]) -> bool:
        """Takes all rows, or none if one cannot be taken.

        That is no tuple, is too short, or has a value that is not of exactly the column's type or does not fit: a
        number out of range, half of a pair of surrogates, text of 2 GB.
        """
    def take(self) -> list[tuple[int, list[bytes | None]]]:
        """For each column the number of nulls, and its buffers as Arrow lays them out; it begins anew."""
