"""What the load store needs of a database, and which database a URL means."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from penstock.control.postgres_database import PostgresDatabase
from penstock.control.sqlite_database import SqliteDatabase
from penstock.errors import LoadStoreError

__all__ = ["Database", "open_database"]


class Database(Protocol):
    """A connection, for one thread. All it raises is LoadStoreError, after which it is of no use any more."""

    place: str
    """Where it is, for people: without a password."""

    def execute(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Does one statement, with a value for each question mark; returns the rows, if it gives any."""
        ...

    def execute_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """Does one statement for each of the rows."""
        ...

    def reading(self) -> AbstractContextManager[None]:
        """What is read within this is of one moment."""
        ...

    def writing(self) -> AbstractContextManager[None]:
        """What is written within this is written whole, or not at all."""
        ...

    def making(self) -> AbstractContextManager[None]:
        """As `writing`, for tables: only one makes them at a time."""
        ...

    def close(self) -> None:
        """Gives the connection back."""
        ...


def open_database(url: str, *, create: bool) -> Database:
    """The database at a URL: `sqlite:///absolute/path` or `postgresql://…`. Without `create` it must be there."""
    parts = urlsplit(url)
    if parts.scheme == "sqlite":
        path = unquote(parts.path)
        if parts.netloc or not path.startswith("/"):
            message = f"a load store in SQLite is sqlite:///absolute/path, got {url!r}"
            raise LoadStoreError(message)
        return SqliteDatabase(path, create=create)
    if parts.scheme in ("postgresql", "postgres"):
        return PostgresDatabase(url)
    message = f"a load store is sqlite:///path or postgresql://…, got {url!r}"
    raise LoadStoreError(message)
