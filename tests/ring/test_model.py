"""The ring against a model of it: a queue."""

from __future__ import annotations

import array
import threading
from collections import deque
from collections.abc import Callable

import hypothesis.strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from typing_extensions import Buffer

from penstock.errors import RingFullError
from penstock.transport.ring import Record, RingReader, RingSettings, RingWriter, Route
from tests.ring.victims import attach_when_there_is_room
from tests.tries import tried

CAPACITY = 1 << 16
MAX_RECORD = CAPACITY // 8 - 32
MAX_WRITERS = 3

# The edges: nothing, a line, what is lent, a record's limit; and anything between.
record_sizes = st.one_of(
    st.sampled_from([0, 1, 31, 32, 33, 96, 97, 4_095, 4_096, MAX_RECORD - 1, MAX_RECORD]), st.integers(0, MAX_RECORD)
)
batch_sizes = st.lists(st.one_of(st.integers(0, 200), record_sizes), max_size=30)
large_sizes = st.one_of(st.sampled_from([MAX_RECORD + 1, CAPACITY]), st.integers(MAX_RECORD + 1, 3 * CAPACITY))


def _array(data: bytes) -> Buffer:
    """Of 16-bit items where that goes: what counts is bytes, not items."""
    return array.array("B" if len(data) % 2 else "H", data)


def _slice(data: bytes) -> Buffer:
    return memoryview(b"<" + data + b">")[1:-1]


Kind = Callable[[bytes], Buffer]
kinds: st.SearchStrategy[Kind] = st.sampled_from([bytes, bytearray, memoryview, _array, _slice])


def _extent(payload_bytes: int) -> int:
    """What a record takes in the ring."""
    return (32 + payload_bytes + 63) // 64 * 64


class RingAgainstQueue(RuleBasedStateMachine):
    """Everything happens in one thread, except large messages: so the model knows the order of all records."""

    def __init__(self) -> None:
        super().__init__()
        self.reader = RingReader.create(RingSettings(capacity_bytes=CAPACITY, max_producers=MAX_WRITERS))
        self.writers: dict[int, RingWriter] = {}
        self.expected: deque[tuple[int, bytes]] = deque()  # (writer, payload): written and not read yet
        self.held: deque[tuple[Record, list[bytes]]] = deque()
        self.writers_so_far = 0
        self.messages_so_far = 0

    def _content(self, size: int) -> bytes:
        """Different for every message, in all its bytes."""
        self.messages_so_far += 1
        return (self.messages_so_far.to_bytes(4, "little") * (size // 4 + 1))[:size]

    def _route(self, writer: int) -> Route:
        return Route(target=writer + 1, source=writer, stream=self.messages_so_far, assignment=2**32 - 1, flags=1 << 31)

    @precondition(lambda self: len(self.writers) < MAX_WRITERS)
    @rule()
    def attach(self) -> None:
        if self.writers_so_far >= MAX_WRITERS:
            # The slot of one that left is free only when all that was written before it left has been read.
            self.drop_all()
            self._read_all()
        self.writers[self.writers_so_far] = attach_when_there_is_room(self.reader.address)
        self.writers_so_far += 1

    @precondition(lambda self: self.writers)
    @rule(data=st.data())
    def close_writer(self, data: st.DataObject) -> None:
        self.writers.pop(data.draw(st.sampled_from(sorted(self.writers)))).close()

    @precondition(lambda self: self.writers)
    @rule(data=st.data(), size=record_sizes, kind=kinds)
    def try_write(self, data: st.DataObject, size: int, kind: Kind) -> None:
        writer = data.draw(st.sampled_from(sorted(self.writers)))
        content = self._content(size)
        used = self.reader.counters().used_bytes
        if self.writers[writer].try_write(kind(content), self._route(writer)):
            self.expected.append((writer, content))
        else:  # at the end of a lap a record may cost up to twice its extent
            assert used + 2 * _extent(size) > CAPACITY, "it says that the ring is full, and it is not"

    @precondition(lambda self: self.writers)
    @rule(data=st.data(), sizes=batch_sizes, kind=kinds)
    def write_many(self, data: st.DataObject, sizes: list[int], kind: Kind) -> None:
        writer = data.draw(st.sampled_from(sorted(self.writers)))
        contents = [self._content(size) for size in sizes]
        written = len(contents)
        try:
            self.writers[writer].write_many([kind(content) for content in contents], self._route(writer), timeout_s=0)
        except RingFullError as error:
            written = error.written
            assert written < len(contents)
        self.expected.extend((writer, content) for content in contents[:written])

    @precondition(lambda self: self.writers)
    @rule(data=st.data(), size=large_sizes, kind=kinds)
    def write_large(self, data: st.DataObject, size: int, kind: Kind) -> None:
        """In packets. Somebody must read meanwhile: it may be larger than the ring."""
        writer = data.draw(st.sampled_from(sorted(self.writers)))
        content = self._content(size)
        self.drop_all()
        sender = threading.Thread(target=self.writers[writer].write, args=(kind(content), self._route(writer)))
        sender.start()
        self.expected.append((writer, content))
        while sender.is_alive():
            self._read_all()
        sender.join()
        assert not self.expected

    @rule(most=st.integers(1, 20), hold=st.booleans())
    def read_many(self, most: int, hold: bool) -> None:
        there_is_something = bool(self.expected)
        assert self._read_some(most, hold=hold) == there_is_something

    def _read_some(self, most: int, *, hold: bool) -> bool:
        records = self.reader.read_many(most, timeout_s=0)
        assert len(records) <= most
        for record in records:
            contents = self._check(record)
            if hold:
                self.held.append((record, contents))
        return bool(records)

    def _read_all(self) -> None:
        while self._read_some(256, hold=False):
            continue

    def _check(self, record: Record) -> list[bytes]:
        contents = []
        for payload in record.payloads:
            writer, content = self.expected.popleft()
            assert payload == content
            assert (record.source, record.target) == (writer, writer + 1)
            assert (record.assignment, record.flags) == (2**32 - 1, 1 << 31)
            contents.append(content)
        return contents

    @precondition(lambda self: self.held)
    @rule()
    def drop_oldest(self) -> None:
        self.held.popleft()

    @precondition(lambda self: self.held)
    @rule()
    def drop_newest(self) -> None:
        self.held.pop()

    def drop_all(self) -> None:
        self.held.clear()

    @invariant()
    def held_payloads_are_intact(self) -> None:
        for record, contents in self.held:
            assert record.payloads == contents

    @invariant()
    def counters_agree(self) -> None:
        counters = self.reader.counters()
        assert 0 <= counters.used_bytes <= CAPACITY
        assert counters.records_read <= counters.records_written
        assert (counters.stalls, counters.recovered_records, counters.dropped_messages) == (0, 0, 0)
        assert counters.wakes == counters.sleeps == 0

    def teardown(self) -> None:
        try:
            self.drop_all()
            self._read_all()
            assert not self.expected
            assert self.reader.read(timeout_s=0) is None
            assert self.reader.drained
            counters = self.reader.counters()
            assert counters.used_bytes == 0
            assert counters.records_read == counters.records_written
            assert counters.bytes_read == counters.bytes_written
        finally:
            for writer in self.writers.values():
                writer.close()
            self.reader.close()


RingAgainstQueue.TestCase.settings = tried(50, steps=50)
TestRingAgainstQueue = RingAgainstQueue.TestCase
