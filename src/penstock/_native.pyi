"""The native core. penstock.transport.ring is the door to the ring; the rest is used as it is."""

from collections.abc import Callable, Iterator, Sequence

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

        What was handed out before counts as done. `timeout_s=None` waits for ever, 0 does not wait.
        """
    def finish(self) -> None:
        """Says that what was handed out is done with, without asking for more."""
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

def judge_rows(rows: list[tuple[object, ...]], width: int) -> int:
    """What rows are made of: one of the above."""

def all_tuples(items: list[object]) -> bool:
    """Whether all items are plain tuples, and not of a subclass."""

def call_each(
    process: Callable[..., object],
    tuples: Iterator[object],
    keys: Iterator[object] | None,
    returned: list[tuple[object, ...]],
) -> object:
    """Calls `process(tuple)`, or `process(key, tuple)`, for each; puts plain tuples that it returns into `returned`.

    Stops at anything else that is not None and returns that, so that it can be seen to before user code goes on.
    Returns None when there are no more tuples. What user code raises comes through.
    """
