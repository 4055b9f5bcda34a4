"""Whether components emit what they declare, as far as their source tells. Never a false alarm."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from penstock.topology.bolts import BatchBolt
from penstock.topology.checks.nearest import did_you_mean, listed
from penstock.topology.checks.source import Seen, Source, source_of
from penstock.topology.declaration import declared_streams
from penstock.topology.emit import DEFAULT_STREAM
from penstock.topology.functions import FunctionBolt, GeneratorSpout
from penstock.topology.groupings import Direct
from penstock.topology.spec import ComponentSpec, Subscription

__all__ = ["emission_problems"]

_EMITTING = ("next", "process", "process_batch", "tick", "finish")


def emission_problems(spec: ComponentSpec, components: Mapping[str, ComponentSpec]) -> Iterator[str]:
    """Outputs that a component is seen to emit and that do not fit what it declares, or how it is taken."""
    takers = _takers(spec.name, components)
    for function, is_fixed in _functions(spec):
        source = source_of(function)
        if source is None:
            continue
        seen = list(source.outputs())
        # Code that emits now this, now that many values is right if how it was set up decides: no opinion then.
        is_either = not is_fixed and any(_fits(spec, one) for one in seen)
        for one in seen:
            if is_either and not _fits(spec, one):
                continue
            for problem in (_kind_problem(spec, one), _width_problem(spec, one), _task_problem(one, takers)):
                if problem is not None:
                    yield f"{one.place}: {problem}"
                    break
        yield from _stop_problems(spec, source)


def _fits(spec: ComponentSpec, one: Seen) -> bool:
    return one.width is None or one.stream is None or one.width == len(spec.streams.get(one.stream, ()))


def _kind_problem(spec: ComponentSpec, one: Seen) -> str | None:
    is_batch = isinstance(spec.logic, BatchBolt)
    if one.wrong is None and is_batch and one.width is not None:
        return f"wanted record batches to emit, got a tuple of {_values(one.width)}"
    if one.wrong is not None:
        return f"wanted {'record batches' if is_batch else 'tuples'} to emit, got {one.wrong}"
    if one.has_id and spec.kind == "bolt":
        return "Emit(id=...) is for spouts: what a bolt emits belongs to the tuple that it was given"
    return None


def _width_problem(spec: ComponentSpec, one: Seen) -> str | None:
    if one.stream is None:
        return None
    fields = spec.streams.get(one.stream)
    if fields is None and one.stream == DEFAULT_STREAM:
        return "it emits, but declares no fields: give it fields=(...)"
    if fields is None:
        near = did_you_mean(one.stream, spec.streams)
        return f"wanted one of its streams ({listed(spec.streams)}), got {one.stream!r}{near}"
    if one.width is not None and one.width != len(fields):
        return f"wanted {_values(len(fields))}, for the fields {listed(fields)}, got {_values(one.width)}"
    return None


def _task_problem(one: Seen, takers: list[tuple[Subscription, ComponentSpec]]) -> str | None:
    """An output names a task exactly if the stream is taken by ``direct()``."""
    of_stream = [(taken, taker) for taken, taker in takers if taken.stream == one.stream]
    by_direct = [taker for taken, taker in of_stream if isinstance(taken.grouping, Direct)]
    if one.task is None and by_direct:
        names = listed(taker.name for taker in by_direct)
        return f"wanted Emit(..., task=index), because {names} takes it by direct(), got an output without a task"
    if one.task is not None and of_stream and not by_direct:
        return f"Emit(task=...) wants a subscriber by direct(), got {', '.join(repr(taken) for taken, _ in of_stream)}"
    for taker in by_direct:
        tasks: Any = taker.tasks  # what was passed as a number may not be one
        if one.task is not True and one.task is not None and isinstance(tasks, int) and one.task >= tasks:
            return f"wanted a task of {taker.name!r}, which has {tasks}, got task={one.task}"
    return None


def _stop_problems(spec: ComponentSpec, source: Source) -> Iterator[str]:
    if not source.is_generator:
        return
    for place in source.stop_iterations():
        if isinstance(spec.logic, GeneratorSpout):
            yield f"{place}: a generator ends by return, not by raising StopIteration, which is an error in it"
        else:
            yield f"{place}: StopIteration is an error where there is a yield: return the outputs as a list instead"


def _takers(name: str, components: Mapping[str, ComponentSpec]) -> list[tuple[Subscription, ComponentSpec]]:
    return [(taken, taker) for taker in components.values() for taken in taker.inputs if taken.source == name]


def _functions(spec: ComponentSpec) -> Iterator[tuple[Callable[..., Any], bool]]:
    """What emits in a component, and whether it is written for these very fields and no others."""
    logic = spec.logic
    if isinstance(logic, FunctionBolt | GeneratorSpout):
        inner: Any = logic.function.func if isinstance(logic.function, functools.partial) else logic.function
        function = inner.__func__ if isinstance(inner, types.MethodType) else inner
        is_set_up = function is not logic.function or getattr(function, "__closure__", None)
        yield function, not is_set_up
        return
    for name in _EMITTING:
        if name in vars(logic) or not hasattr(logic, name):
            continue
        owner = next(kind for kind in type(logic).__mro__ if name in vars(kind))
        if owner.__module__.partition(".")[0] == __name__.partition(".")[0]:
            continue  # ours, and tested
        yield vars(owner)[name], _declares(vars(owner), spec)


def _declares(of_class: Mapping[str, Any], spec: ComponentSpec) -> bool:
    """Whether a class itself, and nothing above or below it, declares all the streams that are in use."""
    return declared_streams(of_class.get("fields", ()), of_class.get("streams", {}), notes=[]) == spec.streams


def _values(count: int) -> str:
    return "1 value" if count == 1 else f"{count} values"
