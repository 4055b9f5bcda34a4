"""Which known name somebody meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["did_you_mean", "listed"]


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """A question to end a sentence with, or nothing if no known name is near.

    >>> did_you_mean("wrod", ["line", "word"])
    "; did you mean 'word'?"
    >>> did_you_mean("zebra", ["line", "word"])
    ''
    """
    near = difflib.get_close_matches(str(name), list(map(str, known)), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def listed(names: Iterable[str]) -> str:
    """Names for a person to read.

    >>> listed(["line", "word"]), listed([])
    ("'line', 'word'", 'none')
    """
    return ", ".join(map(repr, names)) or "none"
