"""The chain as a careful programmer writes it: three Python processes, ZeroMQ over ipc, msgspec on the wire."""

import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

import msgspec
import zmq

from bench.overhead.chain import Chain, ChainError, Flooded, Latencies, Paced
from bench.overhead.stage import Stage, metered
from bench.overhead.tuples import BODY, paced_stamps

_HIGH_WATER = 1000  # messages; ZeroMQ's default: as bounded as a ring is


class Reading(msgspec.Struct, array_like=True, gc=False):
    """What passes: decoded straight into an object without a dictionary, untouched by the garbage collector."""

    stamp_ns: int
    body: str


# When the last tuple came, and the latencies of all if they are wanted.
Taken = tuple[int, list[int]]


class Handwritten(Chain):
    """With `batch` 1, a message per tuple; else a list of so many tuples per message."""

    def __init__(self, batch: int) -> None:
        """Set the number of tuples per message."""
        self.name = "by hand, a message per tuple" if batch == 1 else f"by hand, batches of {batch}"
        self.batch = batch

    def absence(self) -> str | None:
        """It is always there."""
        return None

    def flood(self, count: int) -> Flooded:
        """Whole batches only: the count is rounded up."""
        count = -(-count // self.batch) * self.batch
        started_ns, (finished_ns, _), cpu_s = self._run(partial(_flood, count=count), partial(_drain, count=count))
        return Flooded(tuples=count, elapsed_s=(finished_ns - started_ns) / 1e9, cpu_us_per_tuple=cpu_s * 1e6 / count)

    def pace(self, paced: Paced) -> Latencies:
        """Only for a message per tuple: who batches by hand has to say how long a tuple may wait for others."""
        if self.batch != 1:
            message = f"{self.name}: wanted a message per tuple to measure latency"
            raise ChainError(message)
        count = paced.warm_up + paced.count
        _, (_, latencies), cpu_s = self._run(
            partial(_pace, rate_per_s=paced.rate_per_s, count=count), partial(_collect, count=count)
        )
        return Latencies(latencies_ns=latencies[paced.warm_up :], cpu_us_per_tuple=cpu_s * 1e6 / count)

    def _run(self, produce: Callable[..., int], consume: Callable[..., Taken]) -> tuple[int, Taken, float]:
        """Start C, B and A, each when the one before listens; what A and C answer, and the CPU time of all three."""
        with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder, ExitStack() as stack:
            from_a, from_b = f"ipc://{folder}/a", f"ipc://{folder}/b"
            c = stack.enter_context(Stage(_stage_c, from_b, self.batch, consume))
            b = stack.enter_context(Stage(_stage_b, from_a, from_b, self.batch))
            a = stack.enter_context(Stage(_stage_a, from_a, self.batch, produce))
            meter = metered(a, b, c)
            started_ns = a.answer()
            taken = c.answer()
            meter.look()
            b.stop()
            return started_ns, taken, meter.taken_s


Send = Callable[[bytes], Any]
Receive = Callable[[], bytes]


def _stage_a(pipe: Connection, to_b: str, batch: int, produce: Callable[..., int]) -> None:
    with zmq.Context() as context, context.socket(zmq.PUSH) as socket:
        socket.set_hwm(_HIGH_WATER)
        socket.connect(to_b)
        pipe.send("ready")
        pipe.send(produce(socket.send, batch))
        pipe.poll(None)  # what ZeroMQ still has to send, it sends as long as this process lives


def _stage_b(pipe: Connection, from_a: str, to_c: str, batch: int) -> None:
    with zmq.Context() as context, context.socket(zmq.PULL) as source, context.socket(zmq.PUSH) as sink:
        source.set_hwm(_HIGH_WATER)
        sink.set_hwm(_HIGH_WATER)
        source.bind(from_a)
        sink.connect(to_c)
        pipe.send("ready")
        (_pass_one if batch == 1 else _pass_many)(source.recv, sink.send)


def _stage_c(pipe: Connection, from_b: str, batch: int, consume: Callable[..., Any]) -> None:
    with zmq.Context() as context, context.socket(zmq.PULL) as socket:
        socket.set_hwm(_HIGH_WATER)
        socket.bind(from_b)
        pipe.send("ready")
        pipe.send(consume(socket.recv, batch))


def _forward(reading: Reading) -> Reading:
    """What B does with a tuple: the smallest bolt there is."""
    return Reading(reading.stamp_ns, reading.body)


def _pass_one(receive: Receive, send: Send) -> None:
    encode, decode = msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder(Reading).decode
    while True:
        send(encode(_forward(decode(receive()))))


def _pass_many(receive: Receive, send: Send) -> None:
    encode, decode = msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder(list[Reading]).decode
    while True:
        send(encode([_forward(reading) for reading in decode(receive())]))


def _flood(send: Send, batch: int, *, count: int) -> int:
    encode = msgspec.msgpack.Encoder().encode
    started_ns = time.monotonic_ns()
    if batch == 1:
        for number in range(count):
            send(encode(Reading(number, BODY)))
    else:
        for first in range(0, count, batch):
            send(encode([Reading(number, BODY) for number in range(first, first + batch)]))
    return started_ns


def _drain(receive: Receive, batch: int, *, count: int) -> Taken:
    """Take so many tuples, looking at each."""
    decode_one = msgspec.msgpack.Decoder(Reading).decode
    decode_many = msgspec.msgpack.Decoder(list[Reading]).decode
    taken = last = 0
    if batch == 1:
        while taken < count:
            last = decode_one(receive()).stamp_ns
            taken += 1
    else:
        while taken < count:
            for reading in decode_many(receive()):
                last = reading.stamp_ns
                taken += 1
    finished_ns = time.monotonic_ns()
    if last != count - 1:
        message = f"the last of {count} tuples was number {last}"
        raise ChainError(message)
    return finished_ns, []


def _pace(send: Send, batch: int, *, rate_per_s: int, count: int) -> int:  # noqa: ARG001
    encode = msgspec.msgpack.Encoder().encode
    for stamp_ns in paced_stamps(rate_per_s, count):
        send(encode(Reading(stamp_ns, BODY)))
    return 0


def _collect(receive: Receive, batch: int, *, count: int) -> Taken:  # noqa: ARG001
    decode, clock = msgspec.msgpack.Decoder(Reading).decode, time.monotonic_ns
    latencies = []
    for _ in range(count):
        reading = decode(receive())
        latencies.append(clock() - reading.stamp_ns)
    return clock(), latencies
