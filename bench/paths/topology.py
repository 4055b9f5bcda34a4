"""The operators: one that parses, and a keyed one that counts. And a spout that reads the source by itself."""

import socket
import time
from collections.abc import Iterator
from typing import Any

import penstock as ps
from bench.paths.arrivals import note

_KEYS = 10
_RECEIVE_BYTES = 1 << 16


class LineSpout(ps.Spout):
    """Lines of a TCP connection.

    It has positions so that exactly once takes it. They are not worth the name, because what a connection has given it
    does not give again; but nothing dies here.
    """

    fields = ("value",)

    def __init__(self, port: int) -> None:
        self.port = port

    def open(self, context: ps.TaskContext) -> None:  # noqa: ARG002
        self.connection = socket.create_connection(("127.0.0.1", self.port))
        self.connection.setblocking(False)
        self.rest = b""

    def next(self) -> list[tuple[str]] | None:
        try:
            received = self.connection.recv(_RECEIVE_BYTES)
        except BlockingIOError:
            return None
        *lines, self.rest = (self.rest + received).split(b"\n")
        return [(line.decode(),) for line in lines]

    def position(self) -> None:
        return None

    def seek(self, position: None) -> None:
        pass

    def close(self) -> None:
        self.connection.close()


class Parse(ps.Bolt):
    """Finds the key."""

    fields = ("key", "line")

    def process(self, tup: ps.Tuple) -> tuple[int, str]:
        number = int(tup.value.split(" ")[1].removeprefix("n="))
        return number % _KEYS, tup.value


class Count(ps.KeyedBolt):
    """Counts, and passes the line on with when that was."""

    fields = ("key", "count", "line")

    def process(self, key: Any, tup: ps.Tuple) -> Iterator[tuple[int, int, str]]:
        self.state[key] = self.state.get(key, 0) + 1
        yield key, self.state[key], f"{tup.line} counted_ns={time.time_ns()}"


class NotingCount(ps.KeyedBolt):
    """Counts, and is the last to see the line."""

    fields = ()

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def process(self, key: Any, tup: ps.Tuple) -> None:
        self.state[key] = self.state.get(key, 0) + 1
        note(self.folder, [tup.line])


def ending_here(spout: ps.Spout, folder: str) -> ps.Topology:
    """The topology whose last bolt is the last operator."""
    topology = ps.Topology("paths")
    parsed = topology.bolt("parse", Parse(), topology.spout("lines", spout).shuffle())
    topology.bolt("count", NotingCount(folder), parsed.by("key"), tasks=2)
    return topology


def ending_in_spark(spout: ps.Spout, spool: str) -> ps.Topology:
    """The topology whose counts a query reads."""
    topology = ps.Topology("paths")
    parsed = topology.bolt("parse", Parse(), topology.spout("lines", spout).shuffle())
    counts = topology.bolt("count", Count(), parsed.by("key"), tasks=2)
    topology.bolt("counts", ps.SparkStream(spool, schema="key long, count long, line string"), counts.shuffle())
    return topology
