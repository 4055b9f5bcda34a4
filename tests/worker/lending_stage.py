"""A slow task that lends, a spout that feeds it, and others that have time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import pytest

from penstock.flow.delivery import Delivery
from penstock.flow.spare_time import SpareTime
from penstock.plan.shape import shape_of
from penstock.plan.tasks import tasks_of
from penstock.testing import CapturedSink, FedSpout, LocalCluster
from penstock.topology.bolts import Bolt
from penstock.topology.context import TaskContext
from penstock.topology.emit import Emit
from penstock.topology.topology import Topology
from penstock.topology.tuples import Tuple
from penstock.worker import bolt_task
from penstock.worker.bolt_task import BoltTask
from penstock.worker.settings import WorkerSettings

DELIVERIES: list[Delivery] = ["at_most_once", "at_least_once", "exactly_once"]
NUMBERS = 400
SMALL = WorkerSettings(spout_turn_tuples=40, turn_tuples=4)


def give_everybody_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a virtual clock nothing takes any time: nobody could be found to have some to spare, or to be slow."""
    monkeypatch.setattr(SpareTime, "share", lambda *_: 1.0)
    monkeypatch.setattr(bolt_task, "PIECE_NS", 1)  # pieces are as small as those of a slow bolt


class Doubled(Bolt):
    """Says where it was called, and what is the double; of some numbers in another stream, of some nothing."""

    fields = ("double",)
    streams = MappingProxyType({"odd": ("n", "double")})

    def __init__(self, on_call: Callable[[int, Any], None] = lambda _, __: None) -> None:
        self.on_call = on_call

    def __deepcopy__(self, memo: Any) -> Doubled:
        return Doubled(self.on_call)

    def open(self, context: TaskContext) -> None:
        self.worker = context.worker

    def process(self, tup: Tuple) -> Any:
        self.on_call(self.worker, tup)
        if tup.n % 10 == 9:
            return None
        return (2 * tup.n,) if tup.n % 2 == 0 else [Emit((tup.n, 2 * tup.n), stream="odd"), (2 * tup.n,)]


def doubles(numbers: Any) -> Counter[int]:
    return Counter(2 * n for n in numbers if n % 10 != 9)


class Stage:
    """numbers -> slow -> sink and odd, each on a worker of its own, with idle workers beside them."""

    def __init__(self, logic: Any = None, *, spout: Any = None, sink: Any = None, **options: Any) -> None:
        self.sink, self.odd, self.calls = sink or CapturedSink(), CapturedSink(), Counter[int]()
        self.topology = Topology("redirected")
        numbers = self.topology.spout("numbers", spout or FedSpout([(n,) for n in range(NUMBERS)], fields=("n",)))
        slow = self.topology.bolt("slow", Doubled(self.called) if logic is None else logic, numbers.shuffle())
        self.topology.bolt("sink", self.sink, slow.shuffle())
        if logic is None or "odd" in getattr(logic, "streams", ()):
            self.topology.bolt("odd", self.odd, slow.stream("odd").shuffle())
        idler = self.topology.spout("nothing", FedSpout([], fields=("n",)), tasks=2)
        self.topology.bolt("void", CapturedSink(), idler.shuffle())
        place = {"numbers": 0, "slow": 1, "sink": 0, "odd": 0, "void": 0}
        workers = {task.id: place.get(task.component, 2 + task.index) for task in tasks_of(shape_of(self.topology))}
        options = {"settings": SMALL, **options}
        self.cluster = LocalCluster(self.topology, worker_of=workers, **options)

    def called(self, worker: int, _: Any) -> None:
        self.calls[worker] += 1

    @property
    def slow(self) -> BoltTask:
        [bolt] = [bolt for worker in self.cluster.workers.values() for bolt in worker.bolts if bolt.component == "slow"]
        return bolt

    def call(self) -> None:
        for worker in self.cluster.workers.values():
            for bolt in worker.bolts:
                if bolt.component == "slow":
                    worker.redirection.lending.call(bolt.task)

    def repaid(self) -> int:
        return sum(worker.redirection.lending.repaid_tuples for worker in self.cluster.workers.values())

    def __enter__(self) -> Stage:
        return self

    def __exit__(self, *_: object) -> None:
        self.cluster.close()
