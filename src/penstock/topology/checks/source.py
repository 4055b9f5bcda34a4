"""What a function is seen to emit, without running it: from its source, and only where there is no doubt."""

from __future__ import annotations

import ast
import inspect
import textwrap
import tokenize
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from penstock.topology.emit import DEFAULT_STREAM, Emit

__all__ = ["Seen", "Source", "source_of"]

_UNKNOWN: Any = object()


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """One output in the source of a function."""

    place: str
    """As file:line."""
    width: int | None = None
    """How many values it has, or None if that cannot be seen."""
    stream: str | None = DEFAULT_STREAM
    """Which stream it goes to, or None if that cannot be seen, or if not even what it is can be."""
    task: int | bool | None = None
    """The task that it names, True if it names one that cannot be seen, None if it names none."""
    has_id: bool = False
    wrong: str | None = None
    """If it is no output at all: what it is instead."""


class Source(msgspec.Struct, frozen=True):
    """The source of a function that was found and understood."""

    function: Any  # a types.FunctionType, which mypy would take for a method here
    node: ast.FunctionDef | ast.Lambda
    file: str
    line_offset: int

    @property
    def is_generator(self) -> bool:
        """Whether it yields."""
        return inspect.isgeneratorfunction(self.function)

    def outputs(self) -> Iterator[Seen]:
        """Every output that it returns or yields and that can be seen."""
        if isinstance(self.node, ast.Lambda):
            yield from self._outputs_in(self.node.body)
            return
        for node in _own_nodes(self.node):
            if isinstance(node, ast.Yield | ast.YieldFrom) or (isinstance(node, ast.Return) and not self.is_generator):
                yield from self._outputs_in(node.value)

    def stop_iterations(self) -> Iterator[str]:
        """The places where it raises StopIteration."""
        if isinstance(self.node, ast.Lambda):
            return
        for node in _own_nodes(self.node):
            if isinstance(node, ast.Raise):
                raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
                if isinstance(raised, ast.Name) and raised.id == "StopIteration":
                    yield self._place(node)

    def _place(self, node: ast.expr | ast.stmt) -> str:
        return f"{self.file}:{self.line_offset + node.lineno}"

    def _outputs_in(self, value: ast.expr | None) -> Iterator[Seen]:
        match value:
            case ast.Tuple(elts=elements):
                starred = any(isinstance(element, ast.Starred) for element in elements)
                yield Seen(place=self._place(value), width=None if starred else len(elements))
            case ast.IfExp(body=first, orelse=second):
                yield from self._outputs_in(first)
                yield from self._outputs_in(second)
            case ast.List(elts=elements) | ast.Set(elts=elements):
                for element in elements:
                    yield from self._outputs_in(element)
            case ast.ListComp(elt=element) | ast.SetComp(elt=element) | ast.GeneratorExp(elt=element):
                yield from self._outputs_in(element)
            case ast.Constant(value=constant) if constant is not None and constant is not ...:
                yield Seen(place=self._place(value), wrong=f"the {type(constant).__name__} {constant!r}")
            case ast.JoinedStr():
                yield Seen(place=self._place(value), wrong="a str")
            case ast.Dict() | ast.DictComp():
                yield Seen(place=self._place(value), wrong="a dict")
            case ast.Call() if self._object(value.func) is Emit:
                yield self._emit(value)
            case ast.expr() if not _is_none(value):
                yield Seen(place=self._place(value), stream=None)

    def _emit(self, call: ast.Call) -> Seen:
        given = dict(zip(Emit.__struct_fields__, call.args, strict=False))
        given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
        is_unpacked = any(isinstance(argument, ast.Starred) for argument in call.args)
        if is_unpacked or any(keyword.arg is None for keyword in call.keywords):
            return Seen(place=self._place(call), stream=None)
        values, stream, task = given.get("values"), given.get("stream"), given.get("task")
        starred = isinstance(values, ast.Tuple) and any(isinstance(element, ast.Starred) for element in values.elts)
        return Seen(
            place=self._place(call),
            width=len(values.elts) if isinstance(values, ast.Tuple) and not starred else None,
            stream=DEFAULT_STREAM if stream is None else _constant(stream, str, None),
            task=None if task is None or _is_none(task) else _constant(task, int, True),
            has_id="id" in given,
        )

    def _object(self, node: ast.expr) -> Any:
        """What a name, or an attribute of a module, stands for inside the function."""
        if isinstance(node, ast.Attribute):
            owner = self._object(node.value)
            return getattr(owner, node.attr, _UNKNOWN) if isinstance(owner, types.ModuleType) else _UNKNOWN
        if not isinstance(node, ast.Name) or node.id in self.function.__code__.co_varnames:
            return _UNKNOWN
        code, cells = self.function.__code__, self.function.__closure__ or ()
        if node.id in code.co_freevars:
            cell = cells[code.co_freevars.index(node.id)]
            try:
                return cell.cell_contents
            except ValueError:  # not assigned yet
                return _UNKNOWN
        return self.function.__globals__.get(node.id, _UNKNOWN)


def source_of(function: Callable[..., Any]) -> Source | None:
    """The source of a function, or None where it is not to be had or may not be what runs."""
    if not isinstance(function, types.FunctionType) or hasattr(function, "__wrapped__"):
        return None
    try:
        lines, first_line = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError, ValueError, tokenize.TokenError):
        return None
    node = _lambda(tree) if function.__name__ == "<lambda>" else _definition(tree)
    # The file may have been changed since it was imported: it must at least be the same name and parameters.
    if node is None or _parameters(node) != _parameters_of(function):
        return None
    if isinstance(node, ast.FunctionDef) and node.name != function.__name__:
        return None
    return Source(function, node, Path(function.__code__.co_filename).name, first_line - 1)


def _definition(tree: ast.Module) -> ast.FunctionDef | None:
    match tree.body:
        # What a decorator makes of the outputs cannot be seen.
        case [ast.FunctionDef(decorator_list=[]) as node]:
            return node
    return None


def _lambda(tree: ast.Module) -> ast.Lambda | None:
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Lambda)]
    return found[0] if len(found) == 1 else None


def _parameters(node: ast.FunctionDef | ast.Lambda) -> tuple[str, ...]:
    given = node.args
    return tuple(argument.arg for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs))


def _parameters_of(function: types.FunctionType) -> tuple[str, ...]:
    code = function.__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def _own_nodes(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """Everything inside a function, but not inside functions and classes that it defines."""
    waiting: list[ast.AST] = list(reversed(function.body))
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            continue
        yield node
        waiting.extend(reversed(list(ast.iter_child_nodes(node))))


def _constant(node: ast.expr, kind: type, otherwise: Any) -> Any:
    return node.value if isinstance(node, ast.Constant) and type(node.value) is kind else otherwise


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
