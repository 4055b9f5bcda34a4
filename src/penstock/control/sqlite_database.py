"""The load store's database, where it is a file."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from penstock.control.transaction import transaction
from penstock.errors import LoadStoreError

__all__ = ["SqliteDatabase"]

# How long another process may write until we give up.
_PATIENCE_S = 10.0


class SqliteDatabase:
    """A file of this user's alone.

    With SQLite's ordinary journal, and not a write-ahead log: that one needs memory shared by all who open the file,
    which a home on another machine does not have, and nobody here writes often.
    """

    def __init__(self, path: str, *, create: bool) -> None:
        self.place = f"sqlite://{path}"
        try:
            if create:
                # Made before SQLite does, so that nobody else may read it from the very first.
                os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
            elif not Path(path).is_file():
                message = f"there is no load store at {self.place}"
                raise LoadStoreError(message)
            # Transactions are begun and ended here, and not by the module's own rules.
            self._connection = sqlite3.connect(path, timeout=_PATIENCE_S, isolation_level=None)
        except (OSError, sqlite3.Error) as error:
            message = f"the load store at {self.place} cannot be opened: {error}"
            raise LoadStoreError(message) from error

    def execute(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Does one statement."""
        with self._told():
            return self._connection.execute(statement, values).fetchall()

    def execute_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """Does one statement for each of the rows."""
        with self._told():
            self._connection.executemany(statement, rows)

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """What is read within this is of one moment."""
        with transaction(self.execute, "BEGIN"):
            yield

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """What is written within this is written whole, or not at all."""
        with transaction(self.execute, "BEGIN IMMEDIATE"):  # to wait now, and not to fail after having read
            yield

    @contextlib.contextmanager
    def making(self) -> Iterator[None]:
        """As `writing`: nobody else writes meanwhile."""
        with self.writing():
            yield

    def close(self) -> None:
        """Closes the file."""
        self._connection.close()

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OverflowError) as error:
            message = f"the load store at {self.place} failed: {error}"
            raise LoadStoreError(message) from error
