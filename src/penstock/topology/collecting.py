"""Sinks whose rows the driver fetches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.topology.bolts import Bolt

__all__ = ["CollectingBolt"]

Row = tuple[Any, ...]


class CollectingBolt(Bolt):
    """Keeps rows until they are fetched.

    With ``delivery="exactly_once"`` the rows are state, and are kept: a row may be fetched when its epoch is committed,
    and is fetched again by who comes after a failure. Rows are numbered, so that none counts twice.
    """

    by_epochs: bool = False
    """Whether rows wait for a commit. Given by the runtime, before `open`."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self._fetched = 0
        self._committed = 0

    def drain_collected(self) -> list[Row]:
        """What can be fetched and has not been, so that rows can be fetched bit by bit."""
        if not self.by_epochs:
            rows, self.rows = self.rows, []
            return rows
        rows, self._fetched = self.rows[self._fetched : self._committed], self._committed
        return rows

    @property
    def fetched(self) -> int:
        """How many rows were fetched so far, if they wait for a commit."""
        return self._fetched

    @property
    def committed(self) -> int:
        """How many of the rows are in a committed epoch."""
        return self._committed

    def go_on(self, *, fetched: int, committed: int) -> None:
        """Goes on with the rows of another process, of which so many were fetched and committed there."""
        self._fetched, self._committed = fetched, committed

    def commit_rows(self, count: int) -> None:
        """So many of the rows are in a committed epoch."""
        self._committed = count

    def take_back(self, rows: Sequence[Row]) -> None:
        """Rows of a committed epoch, which may have been fetched from another process."""
        self.rows.extend(rows)
        self._committed = len(self.rows)
