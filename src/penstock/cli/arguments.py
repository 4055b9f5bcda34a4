"""`--set NAME=VALUE`: from texts to the keyword arguments of the function that makes the topology."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from penstock.errors import TopologyError

__all__ = ["keyword_arguments", "pairs"]

_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def pairs(texts: Sequence[str]) -> dict[str, str]:
    """Names and values of NAME=VALUE texts."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            message = f"--set wants NAME=VALUE, got {text!r}"
            raise TopologyError(message)
        if name in found:
            message = f"--set {name} is given twice: {found[name]!r} and {value!r}"
            raise TopologyError(message)
        found[name] = value
    return found


def keyword_arguments(function: Callable[..., object], settings: Mapping[str, str], target: str) -> dict[str, object]:
    """The settings as arguments of a function, each of the type of its parameter; none unknown and none missing."""
    parameters = inspect.signature(function).parameters
    named = {name: parameter for name, parameter in parameters.items() if parameter.kind in _BY_NAME}
    if not any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values()):
        for name in settings.keys() - named.keys():
            message = f"{target} takes no {name!r}; it takes {', '.join(map(repr, named)) or 'nothing'}"
            raise TopologyError(message)
    missing = [name for name, one in named.items() if one.default is inspect.Parameter.empty and name not in settings]
    if missing:
        message = f"{target} needs {' and '.join(f'--set {name}=VALUE' for name in missing)}"
        raise TopologyError(message)
    return {
        name: _converted(name, text, _wanted(named[name], function)) if name in named else text
        for name, text in settings.items()
    }


def _wanted(parameter: inspect.Parameter, function: Callable[..., object]) -> Any:
    """The type of a parameter: as annotated, or else as its default has it."""
    if parameter.annotation is inspect.Parameter.empty:
        return type(parameter.default) if isinstance(parameter.default, bool | int | float) else str
    if not isinstance(parameter.annotation, str):
        return parameter.annotation
    # One by one, and not all with inspect's eval_str: others may name what only type checkers import.
    try:
        return eval(parameter.annotation, getattr(inspect.unwrap(function), "__globals__", {}))
    except NameError:
        return str


def _converted(name: str, text: str, wanted: Any) -> object:
    try:
        return msgspec.convert(text, wanted, strict=False, dec_hook=lambda kind, value: kind(value))
    except (msgspec.ValidationError, TypeError) as error:
        kind = wanted.__name__ if isinstance(wanted, type) else wanted
        message = f"--set {name}={text}: wanted {kind}, got {text!r} ({error})"
        raise TopologyError(message) from None
