"""Statements that are done whole, or not at all."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from penstock.errors import LoadStoreError

__all__ = ["transaction"]


@contextlib.contextmanager
def transaction(execute: Callable[[str], Any], begin: str) -> Iterator[None]:
    """What `execute` does within this; `begin` is the statement that begins it."""
    execute(begin)
    try:
        yield
    except BaseException:
        with contextlib.suppress(LoadStoreError):  # the database may have taken it back itself, or be what failed
            execute("ROLLBACK")
        raise
    execute("COMMIT")
