"""Messages that prove themselves: each names its producer and its place in that producer's sequence."""

from __future__ import annotations

import struct
import zlib
from collections import defaultdict
from collections.abc import Iterable

from penstock.transport.ring import Record, RingReader
from tests.ring.patience import wait_until

_HEAD = struct.Struct("<III")  # producer, sequence, checksum of the whole message with this field zero
SMALLEST = _HEAD.size


def message(producer: int, sequence: int, size: int = 100) -> bytes:
    """The message number `sequence` of `producer`: `size` bytes, none of which another message has in its place."""
    unit = _HEAD.pack(producer, sequence, 0)
    plain = (unit * (size // len(unit) + 1))[: max(size, SMALLEST)]
    return _HEAD.pack(producer, sequence, zlib.crc32(plain)) + plain[SMALLEST:]


def opened(payload: bytes | memoryview) -> tuple[int, int]:
    """The (producer, sequence) of a message; fails if a single bit of it is wrong."""
    producer, sequence, checksum = _HEAD.unpack_from(payload)
    plain = _HEAD.pack(producer, sequence, 0) + payload[SMALLEST:]
    assert zlib.crc32(plain) == checksum, f"a message that claims to be {sequence} of producer {producer} is corrupt"
    return producer, sequence


class Tally:
    """What a reader got. Fails at the first message that is corrupt, missing, repeated or out of order."""

    def __init__(self) -> None:
        self.received: defaultdict[int, int] = defaultdict(int)  # producer -> how many

    def take(self, records: Iterable[Record]) -> None:
        for record in records:
            for payload in record.payloads:
                producer, sequence = opened(payload)
                expected = self.received[producer]
                assert sequence == expected, f"producer={producer} wanted sequence={expected} got={sequence}"
                self.received[producer] += 1

    def drain(self, reader: RingReader) -> None:
        """Reads until everything that was ever claimed is read and its space is back."""

        def all_read() -> bool:
            self.take(reader.read_many(timeout_s=0))
            return reader.drained

        wait_until(all_read, "the ring is drained")
