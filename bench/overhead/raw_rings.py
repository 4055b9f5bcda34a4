"""Two bare rings in a row: what waking two processes and copying 100 bytes twice takes, with nothing else done.

No chain of three processes over rings can be faster, so it is the measure of what a topology adds to a tuple's way.
"""

import struct
import time
from contextlib import ExitStack
from multiprocessing.connection import Connection
from typing import Any

from bench.overhead.chain import Chain, ChainError, Flooded, Latencies, Paced
from bench.overhead.stage import Stage, metered
from bench.overhead.tuples import paced_stamps

_STAMP = struct.Struct("=q")
_BYTES = 100


class RawRings(Chain):
    """A writes a stamp, B passes the record on as it is lent, C notes how long it took."""

    name = "two raw ring hops"

    def absence(self) -> str | None:
        """It is always there."""
        return None

    def flood(self, count: int) -> Flooded:
        """Not measured: a flood of bare records says nothing about tuples. See `bench ipc`."""
        message = f"{self.name}: wanted a rate, got a flood of {count}"
        raise ChainError(message)

    def pace(self, paced: Paced) -> Latencies:
        """Start C, B and A, each told where the next one listens."""
        count = paced.warm_up + paced.count
        with ExitStack() as stack:
            c = stack.enter_context(Stage(_stage_c, count))
            b = stack.enter_context(Stage(_stage_b, c.ready, count))
            a = stack.enter_context(Stage(_stage_a, b.ready, paced.rate_per_s, count))
            meter = metered(a, b, c)
            latencies = c.answer()
            meter.look()
        return Latencies(latencies_ns=latencies[paced.warm_up :], cpu_us_per_tuple=meter.taken_s * 1e6 / count)


def _stage_a(pipe: "Connection[Any, Any]", to_b: str, rate_per_s: int, count: int) -> None:
    from penstock.transport.ring import RingWriter, Route

    with RingWriter.attach(to_b) as writer:
        pipe.send("ready")
        message, route = bytearray(_BYTES), Route()
        for stamp_ns in paced_stamps(rate_per_s, count):
            _STAMP.pack_into(message, 0, stamp_ns)
            writer.write(message, route)
        pipe.poll(None)  # until it is ended: its clock has to be there to be read


def _stage_b(pipe: "Connection[Any, Any]", to_c: str, count: int) -> None:
    from penstock.transport.ring import RingReader, RingWriter, Route

    with RingReader.create() as reader, RingWriter.attach(to_c) as writer:
        pipe.send(reader.address)
        route = Route()
        for _ in range(count):
            record = reader.read()
            assert record is not None  # without a timeout it waits until there is one
            writer.write(record.payload, route)
            del record  # lent: it goes back before the next is awaited
        pipe.poll(None)


def _stage_c(pipe: "Connection[Any, Any]", count: int) -> None:
    from penstock.transport.ring import RingReader

    with RingReader.create() as reader:
        pipe.send(reader.address)
        latencies = []
        for _ in range(count):
            record = reader.read()
            assert record is not None
            now_ns = time.monotonic_ns()
            (stamp_ns,) = _STAMP.unpack_from(record.payload)
            del record
            latencies.append(now_ns - stamp_ns)
        pipe.send(latencies)
        pipe.poll(None)
