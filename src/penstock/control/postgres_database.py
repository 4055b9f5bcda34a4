"""The load store's database, where it is PostgreSQL."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from penstock.control.transaction import transaction
from penstock.errors import LoadStoreError

if TYPE_CHECKING:
    import psycopg

__all__ = ["PostgresDatabase"]

_CONNECT_TIMEOUT_S = 10
# A server that is out of reach must not hold up the keeper of a run, which has to end with it.
_REPLY_TIMEOUT_MS = 20_000
_SCHEMA = "penstock"
# Names our lock among all advisory locks of the database: "penstock" as a number.
_LOCK = 0x70656E73746F636B


class PostgresDatabase:
    """A connection to a server. The tables are in a schema of their own, `penstock`."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.place = f"postgresql://{parts.netloc.rpartition('@')[2]}{parts.path}"
        try:
            import psycopg
        except ImportError as error:
            message = (
                f"the load store at {self.place} needs the package psycopg, which is not installed: "
                f"pip install 'penstock[postgres]' ({error})"
            )
            raise LoadStoreError(message) from error
        self._error = psycopg.Error
        with self._told():
            self._connection: psycopg.Connection[tuple[Any, ...]] = psycopg.connect(
                url,
                autocommit=True,
                connect_timeout=_CONNECT_TIMEOUT_S,
                tcp_user_timeout=_REPLY_TIMEOUT_MS,
                application_name="penstock",
            )
        try:
            self.execute(f"SET statement_timeout = {_REPLY_TIMEOUT_MS}")
            # Asked first, because even to make what is there already one has to be allowed to make.
            if not self.execute("SELECT 1 FROM pg_namespace WHERE nspname = ?", (_SCHEMA,)):
                with self.making():
                    self.execute(f"CREATE SCHEMA IF NOT EXISTS {_SCHEMA}")
            self.execute(f"SET search_path TO {_SCHEMA}")
        except BaseException:
            self.close()
            raise

    def execute(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Does one statement."""
        with self._told(), self._connection.cursor() as cursor:
            cursor.execute(_with_percents(statement), values)
            return cursor.fetchall() if cursor.description else []

    def execute_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """Does one statement for each of the rows."""
        with self._told(), self._connection.cursor() as cursor:
            cursor.executemany(_with_percents(statement), rows)

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """What is read within this is of one moment."""
        with transaction(self.execute, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"):
            yield

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """What is written within this is written whole, or not at all."""
        with transaction(self.execute, "BEGIN"):
            yield

    @contextlib.contextmanager
    def making(self) -> Iterator[None]:
        """As `writing`. Of two who come at the same time the second waits, and finds it made."""
        with self.writing():
            self.execute("SELECT pg_advisory_xact_lock(?)", (_LOCK,))
            yield

    def close(self) -> None:
        """Closes the connection."""
        self._connection.close()

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except self._error as error:
            message = f"the load store at {self.place} failed: {error}"
            raise LoadStoreError(message) from error


def _with_percents(statement: str) -> Any:
    """The statement as psycopg wants it. Ours have no question marks but for values, and no percent signs."""
    return statement.replace("?", "%s")
