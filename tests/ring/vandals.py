"""Scribbles over a ring's memory and uses the ring: this runs in children of the nursery, for it might crash."""

from __future__ import annotations

import collections
import mmap
import random
import struct
from multiprocessing.connection import Connection

from penstock.errors import RingError
from penstock.transport.ring import RingReader, RingSettings, RingWriter, Route

SETTINGS = RingSettings(capacity_bytes=1 << 14, max_producers=2, max_message_bytes=1 << 16)
ROUTE = Route()

# Offsets in the segment, from native/penstock/layout.hpp. `data` is not what a peer should ever get wrong, so the
# headers that stand there are hit on purpose and not only by chance.
CONTROL = {
    "identity": (0, 128),
    "tail": (128, 136),
    "free": (256, 272),
    "waiting": (384, 392),
    "space": (512, 520),
    "owner": (640, 672),
    "counters": (768, 832),
    "claims": (1024, 1040),
    "slot": (1088, 1124),
    "second_slot": (1280, 1536),
    "data": (4096, 4096 + (1 << 14)),
    "anything": (0, 4096 + (1 << 14)),
}


def scribble(rng: random.Random, memory: mmap.mmap, area: str) -> None:
    begin, end = CONTROL[area]
    for _ in range(rng.randint(1, 4)):
        offset = rng.randrange(begin, end - 7) & ~7
        value = rng.choice(
            [
                rng.getrandbits(64),
                0,
                2**64 - 1,
                rng.getrandbits(16),
                64 * rng.randrange(1024),
                _state_word(rng),
                struct.unpack_from("Q", memory, offset)[0] ^ (1 << rng.randrange(64)),
                struct.unpack_from("Q", memory, offset)[0] + 64 * rng.randint(-20, 20) & (2**64 - 1),
            ]
        )
        if area == "data" and rng.random() < 0.7:  # where headers stand
            offset = begin + (offset - begin & ~63)
        struct.pack_into("Q", memory, offset, value)


def _state_word(rng: random.Random) -> int:
    """One that looks right: status, kind, slot and length are each in range, or nearly so."""
    length = rng.choice([0, 1, 100, 2016, 2017, 16_352, 2**32 - 1, rng.randrange(3_000)])
    return rng.randrange(6) << 56 | rng.randrange(4) << 48 | rng.choice([0, 1, 2, 0xFFFF]) << 32 | length


def use(rng: random.Random, reader: RingReader, writers: list[RingWriter]) -> None:
    writer = rng.choice(writers)
    action = rng.randrange(8)
    if action < 2:
        writer.try_write(bytes(rng.randrange(2_016)), ROUTE)
    elif action == 2:
        writer.write_many([bytes(rng.randrange(300)) for _ in range(10)], ROUTE, timeout_s=0)
    elif action == 3:
        writer.write(bytes(rng.randrange(2_017, 10_000)), ROUTE, timeout_s=0)
    elif action < 7:
        for record in reader.read_many(rng.randint(1, 20), timeout_s=0):
            for payload in record.payloads:
                sum(memoryview(payload))  # touches every byte
    else:
        reader.counters()
        reader.stalls()
        writer.counters()
        _ = reader.drained


def vandalise(channel: Connection, area: str, seeds: range) -> None:
    """Reports each seed before it tries it, and at last how often each kind of error was raised."""
    outcomes: collections.Counter[str] = collections.Counter()
    for seed in seeds:
        channel.send(seed)
        rng = random.Random(seed)
        with RingReader.create(SETTINGS) as reader:
            writers = [RingWriter.attach(reader.address) for _ in range(2)]
            with mmap.mmap(reader.memory_fd, 0) as memory:
                for step in range(60):
                    if step % 20 == 10:
                        scribble(rng, memory, area)
                    try:
                        use(rng, reader, writers)
                    except RingError as error:
                        outcomes[type(error).__name__] += 1
            for writer in writers:
                writer.close()
    channel.send(dict(outcomes))


def resume_vandalised(channel: Connection, area: str, seeds: range) -> None:
    """The same, but a new reader takes the scribbled memory over."""
    outcomes: collections.Counter[str] = collections.Counter()
    for seed in seeds:
        channel.send(seed)
        rng = random.Random(seed)
        reader = RingReader.create(SETTINGS)
        with RingWriter.attach(reader.address) as writer, mmap.mmap(reader.memory_fd, 0) as memory:
            for _ in range(20):
                writer.try_write(bytes(rng.randrange(1_000)), ROUTE)
            reader.read_many(5, timeout_s=0)
            scribble(rng, memory, area)
            reader._door.close()
            reader.abandon()
            try:
                with RingReader(SETTINGS, writer.memory_fd) as successor:
                    for _ in range(20):
                        use(rng, successor, [writer])
            except RingError as error:
                outcomes[type(error).__name__] += 1
    channel.send(dict(outcomes))
