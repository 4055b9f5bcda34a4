"""Which part of a component cannot be shipped to a worker, as a path that its author can follow."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Iterator
from typing import Any

from penstock.topology.function_name import name_of
from penstock.topology.functions import FunctionBolt, GeneratorSpout
from penstock.topology.groupings import Custom, ToOne
from penstock.topology.pickling import dumps
from penstock.topology.spec import ComponentSpec

__all__ = ["unshippable"]


def unshippable(spec: ComponentSpec) -> Iterator[str]:
    """What of a component cannot be shipped, one sentence each."""
    logic = spec.logic
    if isinstance(logic, FunctionBolt | GeneratorSpout):
        yield from _unshippable_part(logic.function, f"{name_of(logic.function)}: ", "make it inside the function")
    else:
        yield from _unshippable_part(logic, "", "make it in open()")
    for taken in spec.inputs:
        if isinstance(taken.grouping, Custom):
            yield from _unshippable_part(taken.grouping.route, f"{taken!r}: ", "make it in the function")
        elif isinstance(taken.grouping, ToOne) and taken.grouping.combine is not None:
            yield from _unshippable_part(taken.grouping.combine, f"{taken!r}: ", "make it in the function")


def _unshippable_part(whole: object, prefix: str, advice: str) -> Iterator[str]:
    error = _why_not(whole)
    if error is None:
        return
    part, path = whole, ""
    seen = {id(whole)}
    # Down to the smallest part that fails by itself. Parts that were looked into already are cycles.
    while found := _failing_child(part, seen):
        label, part, error = found
        path += label
    kind = f"{type(part).__module__}.{type(part).__qualname__}".removeprefix("builtins.")
    where = f"attribute {path[1:]}" if path.startswith(".") else path.strip() or "it"
    yield f"{prefix}{where} of type {kind} cannot be shipped to a worker ({error}); {advice}"


def _failing_child(parent: object, seen: set[int]) -> tuple[str, object, Exception] | None:
    for label, child in _children(parent):
        if id(child) in seen:
            continue
        seen.add(id(child))
        error = _why_not(child)
        if error is not None:
            return label, child, error
    return None


def _why_not(part: object) -> Exception | None:
    try:
        dumps(part)
    except Exception as error:  # whatever the part's own code raises
        return error
    return None


def _children(parent: object) -> Iterator[tuple[str, object]]:
    """What an object is made of, each with how its author calls it."""
    match parent:
        case types.FunctionType():
            yield from _variables(parent)
        case types.MethodType():
            yield from ((".__self__", parent.__self__), (".__func__", parent.__func__))
        case functools.partial():
            yield " function", parent.func
            yield from ((f" argument {position}", value) for position, value in enumerate(parent.args, 1))
            yield from ((f" argument {name}", value) for name, value in parent.keywords.items())
        case dict():
            yield from ((f"[{key!r}]", value) for key, value in parent.items())
            yield from ((" key", key) for key in parent)
        case list() | tuple() | set() | frozenset():
            yield from ((f"[{position}]", value) for position, value in enumerate(parent))
        case type():
            attributes = list(vars(parent).items())
            yield from ((f".{name}", value) for name, value in attributes if not inspect.isdatadescriptor(value))
        case types.ModuleType():
            yield from ((f".{name}", value) for name, value in list(vars(parent).items()) if name != "__builtins__")
        case _:
            yield from ((f".{name}", value) for name, value in _state(parent).items())
            yield f" class {type(parent).__qualname__}", type(parent)


def _state(parent: object) -> dict[str, Any]:
    """What would be pickled of an object, as far as it consists of attributes."""
    try:
        state = parent.__getstate__()  # type: ignore[attr-defined,unused-ignore]
    except Exception:  # the author's own
        state = getattr(parent, "__dict__", {})
    found: dict[str, Any] = {}
    for part in state if isinstance(state, tuple) else (state,):
        if isinstance(part, dict):
            found.update(part)
    return found


def _variables(function: Callable[..., Any]) -> Iterator[tuple[str, object]]:
    code: types.CodeType = function.__code__
    for name, cell in zip(code.co_freevars, getattr(function, "__closure__", None) or (), strict=True):
        try:
            yield f" variable {name}", cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    names = _global_names(code)
    yield from ((f" global {name}", value) for name, value in list(function.__globals__.items()) if name in names)
    for position, value in enumerate(getattr(function, "__defaults__", None) or ()):
        yield f" default {position}", value


def _global_names(code: types.CodeType) -> set[str]:
    inner = (constant for constant in code.co_consts if isinstance(constant, types.CodeType))
    return set(code.co_names).union(*map(_global_names, inner))
