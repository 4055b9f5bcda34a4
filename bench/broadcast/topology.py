"""The paper's figure 7: S gives a message, B broadcasts it to all W, each of which answers to G, which gathers.

B has a stream for each algorithm, and W takes all of them: so one run measures all algorithms in turn, on the same
workers, and what it costs to start a run is paid once.
"""

import json
import time
from collections.abc import Sequence
from pathlib import Path

import penstock as ps
from bench.broadcast.conductor import Conductor

ANSWER_FILE = "answer.json"


class Source(ps.Spout):
    """S: sends what the conductor says."""

    fields = ("number", "algorithm", "size_bytes")

    def __init__(self, conductor: Conductor) -> None:
        self.conductor = conductor

    def next(self) -> tuple[int, str, int] | None:
        return self.conductor.next()


class Broadcaster(ps.Bolt):
    """B: makes the message itself. Its way from S to here would be the same by every algorithm."""

    def __init__(self, algorithms: Sequence[str]) -> None:
        self.streams = dict.fromkeys(algorithms, ("number", "body"))
        self.bodies: dict[int, bytes] = {}

    def process(self, tup: ps.Tuple) -> ps.Emit:
        body = self.bodies.get(tup.size_bytes)
        if body is None:
            body = self.bodies[tup.size_bytes] = bytes(tup.size_bytes)
        return ps.Emit((tup.number, body), stream=tup.algorithm)


class Answerer(ps.Bolt):
    """W: says that it has the message, and since when."""

    fields = ("number", "index", "reached_ns")

    def open(self, context: ps.TaskContext) -> None:
        self.index = context.index

    def process(self, tup: ps.Tuple) -> tuple[int, int, int]:
        return tup.number, self.index, time.monotonic_ns()


class Gatherer(ps.Bolt):
    """G: passes answers on to the conductor, and leaves what that has noted in a folder."""

    fields = ()

    def __init__(self, conductor: Conductor, folder: str) -> None:
        self.conductor = conductor
        self.folder = folder

    def process(self, tup: ps.Tuple) -> None:
        self.conductor.answered(tup.number, tup.index, tup.reached_ns)

    def finish(self) -> None:
        Path(self.folder, ANSWER_FILE).write_text(json.dumps(self.conductor.results()))


def s_b_w_g(conductor: Conductor, algorithms: Sequence[str], folder: str) -> ps.Topology:
    """The topology, with as many W as the conductor expects answers."""
    topology = ps.Topology("broadcast")
    source = topology.spout("s", Source(conductor))
    broadcaster = topology.bolt("b", Broadcaster(algorithms), source.to_one())
    streams = [broadcaster.stream(algorithm).broadcast(algorithm) for algorithm in algorithms]
    answers = topology.bolt("w", Answerer(), *streams, tasks=conductor.tasks)
    topology.bolt("g", Gatherer(conductor, folder), answers.to_one())
    return topology
