"""What a person calls a function."""

from __future__ import annotations

import functools

__all__ = ["name_of"]


def name_of(function: object) -> str:
    """The name of a function, as in its source; of something else that can be called, its class.

    >>> name_of(len), name_of(functools.partial(len)), name_of("".join)
    ('len', 'len', 'str.join')
    """
    inner = function.func if isinstance(function, functools.partial) else function
    return str(getattr(inner, "__qualname__", type(inner).__qualname__)).replace("<locals>.", "")
