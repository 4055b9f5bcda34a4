"""Random topologies that pass tuples on, and what must come out of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import strategies as st

from penstock.testing import CapturedSink, FedSpout
from penstock.topology.bolts import BatchBolt, Bolt, KeyedBolt
from penstock.topology.emit import Emit
from penstock.topology.streams import Component, Input
from penstock.topology.topology import Topology
from penstock.topology.tuples import Tuple

FIELDS = ("key", "trail")
"""A number, and the names of the components that it came through."""

Row = tuple[int, str]


def first_and_last(values: tuple[Any, ...], count: int) -> Sequence[int]:  # noqa: ARG001
    return sorted({0, count - 1})


def by_remainder(values: tuple[Any, ...], count: int) -> int:
    remainder: int = values[0] % count
    return remainder


GROUPINGS = {
    "shuffle": lambda stream: stream.shuffle(),
    "local_or_shuffle": lambda stream: stream.local_or_shuffle(),
    "by key": lambda stream: stream.by("key"),
    "by both": lambda stream: stream.by("trail", "key"),
    "partial_key": lambda stream: stream.partial_key("key"),
    "broadcast": lambda stream: stream.broadcast(),
    "broadcast one by one": lambda stream: stream.broadcast("serial"),
    "broadcast along a ring": lambda stream: stream.broadcast("ring"),
    "broadcast along a binary tree": lambda stream: stream.broadcast("binary"),
    "to_one": lambda stream: stream.to_one(),
    "custom": lambda stream: stream.custom(by_remainder),
    "custom to two": lambda stream: stream.custom(first_and_last),
}


def times_delivered(grouping: str, tasks: int) -> int:
    match grouping:
        case _ if grouping.startswith("broadcast"):
            return tasks
        case "custom to two":
            return min(tasks, 2)
    return 1


class Passing(Bolt):
    """Adds its name to the trail; odd keys go to a stream of their own, too."""

    fields, streams = FIELDS, {"odd": FIELDS}

    def __init__(self, name: str) -> None:
        self.name = name

    def process(self, tup: Tuple) -> Any:
        out = (tup.key, tup.trail + self.name)
        return out if tup.key % 2 == 0 else [Emit(out, stream="odd"), None, out]


class Yielding(Passing):
    def process(self, tup: Tuple) -> Iterator[Any]:
        out = (tup.key, tup.trail + self.name)
        yield out
        if tup.key % 2:
            yield Emit(out, stream="odd")


class Keyed(KeyedBolt):
    fields, streams = FIELDS, {"odd": FIELDS}

    def __init__(self, name: str) -> None:
        self.name = name

    def process(self, key: Any, tup: Tuple) -> Iterator[Any]:
        self.state[key] = self.state.get(key, 0) + 1
        out = (tup.key, tup.trail + self.name)
        yield out
        if tup.key % 2:
            yield Emit(out, stream="odd")


class Batching(BatchBolt):
    fields, streams = FIELDS, {"odd": FIELDS}

    def __init__(self, name: str) -> None:
        self.name = name

    def process_batch(self, batch: pa.RecordBatch) -> Iterator[Any]:
        trails = pc.binary_join_element_wise(batch.column("trail"), self.name, "")
        out = pa.RecordBatch.from_arrays([batch.column("key"), trails], names=list(FIELDS))
        yield out
        odd = [key % 2 == 1 for key in batch.column("key").to_pylist()]
        yield Emit(out.filter(pa.array(odd)), stream="odd")


class Holding(Passing):
    """Keeps everything until the end."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.held: list[Any] = []

    def process(self, tup: Tuple) -> None:
        self.held.append(super().process(tup))

    def finish(self) -> Iterator[Any]:
        for out in self.held:
            yield from [out] if isinstance(out, tuple) else out


KINDS = {"passing": Passing, "yielding": Yielding, "keyed": Keyed, "batching": Batching, "holding": Holding}


class Taken(msgspec.Struct, frozen=True):
    source: str
    stream: str
    grouping: str


class Plan(msgspec.Struct, frozen=True):
    """A topology as values: tasks and feeds of spouts, and of bolts the tasks, the kind and what they take."""

    spouts: dict[str, tuple[int, list[int]]]
    bolts: dict[str, tuple[int, str, list[Taken]]]

    def topology(self) -> Topology:
        topo = Topology("random")
        handles: dict[str, Component] = {}
        for name, (tasks, keys) in self.spouts.items():
            handles[name] = topo.spout(name, FedSpout([(key, name) for key in keys], fields=FIELDS), tasks=tasks)
        for name, (tasks, kind, takes) in self.bolts.items():
            inputs: list[Input] = [
                GROUPINGS[taken.grouping](handles[taken.source].stream(taken.stream)) for taken in takes
            ]
            handles[name] = topo.bolt(name, KINDS[kind](name), *inputs, tasks=tasks)
        for name in self.bolts:
            for stream in ("default", "odd"):
                topo.bolt(f"sink-{name}-{stream}", CapturedSink(), handles[name].stream(stream).shuffle())
        return topo

    def expected(self) -> dict[str, Counter[Row]]:
        """What each sink must have been given, by its name."""
        emitted = {name: Counter((key, name) for key in keys) for name, (_, keys) in self.spouts.items()}
        for name, (tasks, _, takes) in self.bolts.items():
            emitted[name] = Counter()
            for taken in takes:
                for (key, trail), count in emitted[taken.source].items():
                    if taken.stream == "default" or key % 2:
                        emitted[name][key, trail + name] += count * times_delivered(taken.grouping, tasks)
        return {
            f"sink-{name}-{stream}": Counter(
                {row: count for row, count in emitted[name].items() if stream == "default" or row[0] % 2}
            )
            for name in self.bolts
            for stream in ("default", "odd")
        }


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    tasks = st.integers(1, 3)
    keys = st.lists(st.integers(0, 9), max_size=25)
    spouts = {f"s{number}": (draw(tasks), draw(keys)) for number in range(draw(st.integers(1, 2)))}
    bolts: dict[str, tuple[int, str, list[Taken]]] = {}
    for number in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(sorted(KINDS)))
        groupings = st.just("by key") if kind == "keyed" else st.sampled_from(sorted(GROUPINGS))
        sources = st.one_of(
            st.builds(Taken, st.sampled_from(sorted(spouts)), st.just("default"), groupings),
            *(
                [st.builds(Taken, st.sampled_from(sorted(bolts)), st.sampled_from(["default", "odd"]), groupings)]
                if bolts
                else []
            ),
        )
        takes = draw(st.lists(sources, min_size=1, max_size=3, unique=True))
        bolts[f"b{number}"] = (draw(tasks), kind, takes)
    return Plan(spouts, bolts)
