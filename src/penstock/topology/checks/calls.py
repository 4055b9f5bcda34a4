"""Whether something can be called as it will be."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

__all__ = ["call_problem"]


def call_problem(function: Callable[..., Any], *arguments: str) -> str | None:
    """What is wrong with calling a function with so many arguments by position, or None.

    >>> call_problem(lambda tup: None, "tup")
    >>> call_problem(lambda: None, "tup")
    'wanted to call it with (tup), but it takes ()'
    """
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError):  # some that are written in C do not tell
        return None
    try:
        signature.bind(*arguments)
    except TypeError:
        bare = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
        takes = signature.replace(parameters=bare, return_annotation=signature.empty)
        return f"wanted to call it with ({', '.join(arguments)}), but it takes {takes}"
    return None
