"""What components are: the right kind of object, with the methods that will be called."""

from __future__ import annotations

import inspect
import math
import types
from collections.abc import Callable, Iterator
from typing import Any

from penstock.topology.bolts import BaseBolt, BatchBolt, Bolt, KeyedBolt, StatefulBolt
from penstock.topology.checks.calls import call_problem
from penstock.topology.emit import DEFAULT_STREAM
from penstock.topology.function_name import name_of
from penstock.topology.functions import FunctionBolt, GeneratorSpout, takes_context
from penstock.topology.logic import Logic
from penstock.topology.spec import ComponentSpec
from penstock.topology.spouts import Spout
from penstock.topology.transactional import TransactionalSink

__all__ = ["is_runnable", "logic_problems", "setting_problems"]

# What each kind of component must define, and what each method is called with.
_REQUIRED: dict[type[Logic], dict[str, tuple[str, ...]]] = {
    Spout: {"next": ()},
    StatefulBolt: {"process": ("tup",), "snapshot": (), "restore": ("state",)},
    KeyedBolt: {"process": ("key", "tup")},
    BatchBolt: {"process_batch": ("batch",)},
    TransactionalSink: {"process": ("tup",), "prepare": (), "commit": ("token",)},
    Bolt: {"process": ("tup",)},
}
_OPTIONAL: dict[str, tuple[str, ...]] = {
    "open": ("context",),
    "close": (),
    "tick": (),
    "finish": (),
    "ack": ("id",),
    "fail": ("id",),
    "position": (),
    "seek": ("position",),
    "recover": ("tokens",),
}


def is_runnable(spec: ComponentSpec) -> bool:
    """Whether it is a component of the right kind at all, so that a closer look makes sense."""
    wanted = Spout if spec.kind == "spout" else tuple(kind for kind in _REQUIRED if kind is not Spout)
    return isinstance(spec.logic, wanted)


def setting_problems(spec: ComponentSpec) -> Iterator[str]:
    """What is wrong with its numbers."""
    tasks: Any = spec.tasks
    if not isinstance(tasks, int) or isinstance(tasks, bool):
        yield f"tasks: wanted a whole number, got {tasks!r}"
    elif tasks < 1:
        yield f"tasks: wanted at least 1, got {tasks}"
    every: Any = spec.settings.tick_every_s
    if every is None:
        return
    if not isinstance(every, int | float) or isinstance(every, bool) or not (0 < every < math.inf):
        yield f"tick_every_s: wanted a number of seconds above 0, got {every!r}"
    elif is_runnable(spec) and type(spec.logic).tick is BaseBolt.tick:  # type: ignore[attr-defined]
        yield f"tick_every_s={every}: {_shown(spec.logic)} defines no tick() to call"


def logic_problems(spec: ComponentSpec) -> Iterator[str]:
    """What is wrong with what it does."""
    logic = spec.logic
    if not is_runnable(spec):
        yield _not_a_component(spec)
    elif isinstance(logic, FunctionBolt):
        if inspect.iscoroutinefunction(logic.function) or inspect.isasyncgenfunction(logic.function):
            yield f"{name_of(logic.function)}: wanted a plain or a generator function, got an async one"
        elif problem := call_problem(logic.function, "tup"):
            yield f"{name_of(logic.function)}: {problem}"
    elif isinstance(logic, GeneratorSpout):
        yield from _generator_problems(logic.function)
    else:
        yield from _method_problems(logic)
    if spec.kind == "spout" and DEFAULT_STREAM not in spec.streams and is_runnable(spec) and not spec.streams:
        yield "wanted the names of the fields that it emits, got none: give it fields=(...)"


def _not_a_component(spec: ComponentSpec) -> str:
    given: Any = spec.logic
    wanted = "a Spout or a generator function" if spec.kind == "spout" else "a bolt or a function"
    if isinstance(given, type) and issubclass(given, Logic):
        return f"wanted {wanted}, got the class {given.__name__}: write {given.__name__}()"
    if isinstance(given, types.GeneratorType):
        name = given.__name__
        return f"wanted {wanted}, got a generator that runs already: pass {name}, not {name}()"
    if isinstance(given, Spout):
        return f"wanted {wanted}, got the spout {_shown(given)}: add it with topology.spout"
    if isinstance(given, BaseBolt) and spec.kind == "spout":
        return f"wanted {wanted}, got the bolt {_shown(given)}: add it with topology.bolt"
    if isinstance(given, Logic):
        return f"wanted {wanted}, got {_shown(given)}: derive it from Spout, Bolt, StatefulBolt, KeyedBolt or BatchBolt"
    return f"wanted {wanted}, got {given!r}"


def _generator_problems(function: Callable[..., Any]) -> Iterator[str]:
    name = name_of(function)
    if inspect.isasyncgenfunction(function) or inspect.iscoroutinefunction(function):
        yield f"{name}: wanted a generator function, got an async one"
    elif not inspect.isgeneratorfunction(function):
        yield f"{name}: wanted a generator function or a Spout, got a function that does not yield"
    elif takes_context(function) and (problem := call_problem(function, "context")):
        yield f"{name}: {problem}"


def _method_problems(logic: Logic) -> Iterator[str]:
    kinds = tuple(kind for kind in _REQUIRED if isinstance(logic, kind))
    shown = _shown(logic)
    if BatchBolt in kinds and len(kinds) > 1:
        other = kinds[1 - kinds.index(BatchBolt)].__name__
        yield (
            f"{shown}: wanted a BatchBolt or a {other}, got both: a BatchBolt is given whole batches, and a {other} "
            f"one tuple at a time"
        )
        return
    # A sink may have state, too. Where two kinds want the same method, the first of them says how it is called.
    required = {name: called for kind in reversed(kinds) for name, called in _REQUIRED[kind].items()}
    for name, arguments in {**required, **_OPTIONAL}.items():
        method = getattr(logic, name, None)
        if method is None:
            continue
        if not _is_overridden(logic, kinds, name):
            if name in required:
                yield f"{shown} does not define {name}({', '.join(arguments)})"
        elif not callable(method):
            yield f"{shown}.{name}: wanted a method, got {method!r}"
        elif inspect.iscoroutinefunction(method) or inspect.isasyncgenfunction(method):
            yield f"{shown}.{name}: wanted a plain or a generator method, got an async one"
        elif problem := call_problem(method, *arguments):
            yield f"{shown}.{name}: {problem}"
    if isinstance(logic, Spout) and _is_overridden(logic, kinds, "position") != _is_overridden(logic, kinds, "seek"):
        yield f"{shown}: wanted both position() and seek(position), or neither, got one of them"
    if isinstance(logic, BatchBolt) and hasattr(logic, "process"):
        yield f"{shown}.process is never called: a BatchBolt is given whole batches, by process_batch(batch)"


def _is_overridden(logic: Logic, kinds: tuple[type[Logic], ...], name: str) -> bool:
    own = getattr(type(logic), name)
    return name in vars(logic) or all(own is not getattr(kind, name, None) for kind in kinds)


def _shown(logic: Logic) -> str:
    return type(logic).__name__
