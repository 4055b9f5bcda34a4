"""Objects that are no components, methods that are not there or cannot be called, and numbers that cannot be."""

# ruff: noqa: ARG001, ARG002 - what matters is what can be called, not what it does

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any

import pytest

from penstock.topology.bolts import BaseBolt, BatchBolt, Bolt, KeyedBolt, StatefulBolt
from penstock.topology.emit import Outputs
from penstock.topology.spouts import Spout
from penstock.topology.topology import Topology
from penstock.topology.transactional import TransactionalSink
from penstock.topology.tuples import Tuple
from tests.topology.complaints import Numbers, Same, complaints, numbers, only_complaint, topology_with_numbers


def complaint_about_bolt(bolt: Any, **settings: Any) -> str:
    topo, source = topology_with_numbers()
    topo.bolt("b", bolt, source.by("n"), **settings)
    return only_complaint(topo).partition("): ")[2]


def complaint_about_spout(spout: Any, **settings: Any) -> str:
    topo = Topology("t")
    topo.spout("s", spout, **settings)
    return only_complaint(topo).partition("): ")[2]


@pytest.mark.parametrize(
    ("tasks", "wanted"),
    [
        (0, "tasks: wanted at least 1, got 0"),
        (-2, "tasks: wanted at least 1, got -2"),
        (1.5, "tasks: wanted a whole number, got 1.5"),
        ("2", "tasks: wanted a whole number, got '2'"),
        (True, "tasks: wanted a whole number, got True"),
        (None, "tasks: wanted a whole number, got None"),
    ],
)
def test_tasks_are_counted(tasks: Any, wanted: str) -> None:
    assert complaint_about_bolt(Same(), tasks=tasks) == wanted
    assert complaint_about_spout(Numbers(), tasks=tasks) == wanted


class Ticking(Same):
    def tick(self) -> Outputs:
        return (0,)


@pytest.mark.parametrize("every_s", [0, -1, -0.5, math.inf, math.nan, "1", True])
def test_ticks_are_seconds_apart(every_s: Any) -> None:
    wanted = f"tick_every_s: wanted a number of seconds above 0, got {every_s!r}"
    assert complaint_about_bolt(Ticking(), tick_every_s=every_s) == wanted


def test_ticks_want_a_tick() -> None:
    assert complaint_about_bolt(Same(), tick_every_s=1) == "tick_every_s=1: Same defines no tick() to call"
    topo, source = topology_with_numbers()
    topo.bolt("a", Ticking(), source.shuffle(), tick_every_s=0.1)
    topo.bolt("b", Ticking(), source.shuffle())
    assert complaints(topo) == []


def test_a_class_is_not_yet_a_component() -> None:
    assert complaint_about_bolt(Same, fields=("n",)) == "wanted a bolt or a function, got the class Same: write Same()"
    wanted = "wanted a Spout or a generator function, got the class Numbers: write Numbers()"
    assert complaint_about_spout(Numbers, fields=("n",)) == wanted


def test_a_generator_that_runs_is_too_late() -> None:
    generator = numbers()
    wanted = "got a generator that runs already: pass numbers, not numbers()"
    assert complaint_about_spout(generator, fields=("n",)).endswith(wanted)


def test_spouts_and_bolts_are_told_apart() -> None:
    assert complaint_about_bolt(Numbers()).endswith("got the spout Numbers: add it with topology.spout")
    assert complaint_about_spout(Same()).endswith("got the bolt Same: add it with topology.bolt")


def test_other_objects_are_no_components() -> None:
    assert complaint_about_bolt(5) == "wanted a bolt or a function, got 5"
    assert complaint_about_spout([1, 2]) == "wanted a Spout or a generator function, got [1, 2]"
    assert complaint_about_bolt(BaseBolt()).endswith("derive it from Spout, Bolt, StatefulBolt, KeyedBolt or BatchBolt")


def test_functions_are_called_with_one_tuple() -> None:
    assert complaint_about_bolt(lambda: None) == (
        "test_functions_are_called_with_one_tuple.<lambda>: wanted to call it with (tup), but it takes ()"
    )

    def two(key: Any, tup: Tuple) -> None: ...

    assert complaint_about_bolt(two).endswith("two: wanted to call it with (tup), but it takes (key, tup)")


def test_a_spout_function_has_to_yield() -> None:
    def once() -> tuple[int]:
        return (1,)

    assert complaint_about_spout(once, fields=("n",)).endswith(
        "once: wanted a generator function or a Spout, got a function that does not yield"
    )

    def greedy(context: Any, more: Any) -> Iterator[tuple[int]]:
        yield (1,)

    assert complaint_about_spout(greedy, fields=("n",)).endswith(
        "greedy: wanted to call it with (context), but it takes (context, more)"
    )


def test_async_functions_are_refused() -> None:
    async def later(tup: Tuple) -> None: ...

    async def stream() -> AsyncIterator[tuple[int]]:
        yield (1,)

    class Later(Bolt):
        async def process(self, tup: Tuple) -> None:  # type: ignore[override]
            ...

    assert complaint_about_bolt(later).endswith("later: wanted a plain or a generator function, got an async one")
    assert complaint_about_spout(stream, fields=("n",)).endswith("wanted a generator function, got an async one")
    assert complaint_about_bolt(Later()) == "Later.process: wanted a plain or a generator method, got an async one"


@pytest.mark.parametrize(
    ("kind", "method"),
    [(Bolt, "process(tup)"), (KeyedBolt, "process(key, tup)"), (BatchBolt, "process_batch(batch)")],
)
def test_a_bolt_has_to_do_something(kind: type[Any], method: str) -> None:
    assert complaint_about_bolt(type("Lazy", (kind,), {})()) == f"Lazy does not define {method}"


def test_a_spout_has_to_do_something() -> None:
    assert complaint_about_spout(type("Lazy", (Spout,), {"fields": ("n",)})()) == "Lazy does not define next()"


def test_a_stateful_bolt_has_to_save_and_restore() -> None:
    class Forgetful(StatefulBolt):
        def process(self, tup: Tuple) -> None: ...

    topo, source = topology_with_numbers()
    topo.bolt("b", Forgetful(), source.shuffle())
    assert [problem.partition("): ")[2] for problem in complaints(topo)] == [
        "Forgetful does not define snapshot()",
        "Forgetful does not define restore(state)",
    ]


def test_methods_have_to_take_what_they_are_given() -> None:
    class Unkeyed(KeyedBolt):
        def process(self, tup: Tuple) -> None:  # type: ignore[override]
            ...

    class Closed(Bolt):
        def open(self) -> None:  # type: ignore[override]
            ...

        def process(self, tup: Tuple) -> None: ...

    wanted = "Unkeyed.process: wanted to call it with (key, tup), but it takes (tup)"
    assert complaint_about_bolt(Unkeyed()) == wanted
    assert complaint_about_bolt(Closed()) == "Closed.open: wanted to call it with (context), but it takes ()"


def test_a_method_has_to_be_one() -> None:
    class Valued(Bolt):
        process: Any = 3

    assert complaint_about_bolt(Valued()) == "Valued.process: wanted a method, got 3"


def test_a_batch_bolt_has_no_process() -> None:
    class Single(BatchBolt):
        def process(self, tup: Tuple) -> None: ...

        def process_batch(self, batch: Any) -> None: ...

    assert complaint_about_bolt(Single()).startswith("Single.process is never called")


def test_a_sink_is_given_no_batches() -> None:
    class Both(BatchBolt, TransactionalSink):
        def process_batch(self, batch: Any) -> None: ...

        def prepare(self) -> None: ...

        def commit(self, token: Any) -> None: ...

    assert complaint_about_bolt(Both()) == (
        "Both: wanted a BatchBolt or a TransactionalSink, got both: a BatchBolt is given whole batches, and a "
        "TransactionalSink one tuple at a time"
    )


def test_a_sink_may_have_state() -> None:
    class Halfway(StatefulBolt, TransactionalSink):
        def process(self, tup: Tuple) -> None: ...

        def snapshot(self) -> None: ...

        def restore(self, state: Any) -> None: ...

        def prepare(self) -> None: ...

    class Whole(Halfway):
        def commit(self, token: Any) -> None: ...

    assert complaint_about_bolt(Halfway()) == "Halfway does not define commit(token)"
    topo, source = topology_with_numbers()
    topo.bolt("b", Whole(), source.shuffle())
    assert complaints(topo) == []


def test_positions_and_seeking_go_together() -> None:
    class Half(Numbers):
        def position(self) -> int:
            return 0

    class Whole(Half):
        def seek(self, position: int) -> None: ...

    wanted = "Half: wanted both position() and seek(position), or neither, got one of them"
    assert complaint_about_spout(Half()) == wanted
    assert not Half.is_replayable()
    assert not Numbers.is_replayable()
    assert Whole.is_replayable()
    topo = Topology("t")
    topo.spout("s", Whole())
    assert complaints(topo) == []


def test_a_spout_has_to_name_its_fields() -> None:
    assert complaint_about_spout(Numbers(), fields=()) == (
        "wanted the names of the fields that it emits, got none: give it fields=(...)"
    )
    topo = Topology("t")
    topo.spout("s", Numbers(), fields=(), streams={"late": ("n",)})
    assert complaints(topo) == []


def test_a_component_can_have_problems_of_its_own() -> None:
    class Picky(Same):
        def problems(self, tasks: int, fields: tuple[str, ...]) -> Iterable[str]:
            return [f"wanted an even number of tasks for {fields}, got {tasks}"] if tasks % 2 else []

    class Broken(Same):
        def problems(self, tasks: int, fields: tuple[str, ...]) -> Iterable[str]:
            raise RuntimeError(tasks)

    assert complaint_about_bolt(Picky(), tasks=3) == "wanted an even number of tasks for ('n',), got 3"
    assert complaint_about_bolt(Broken()) == "Broken.problems() failed: RuntimeError: 1"
    topo, source = topology_with_numbers()
    topo.bolt("b", Picky(), source.shuffle(), tasks=2)
    assert complaints(topo) == []
