"""Offsets as a query keeps them in its checkpoint: with the spool that they are of.

A query may be started anew on another spool: with another path, or because the name of a topology means another run by
now. To an offset, files of another spool look like those of writers that it has long left behind, and would be passed
over without a word. So the query is refused instead.
"""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.connectors.spool import About, Spool
from penstock.connectors.spool_offsets import Offset
from penstock.errors import RunError

__all__ = ["QueryOffsets", "about_spool"]


class _Kept(msgspec.Struct, frozen=True, kw_only=True):
    spool: str
    files: Offset


class QueryOffsets:
    """Turns offsets of one spool into what its query keeps, and back."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._known: str | None = None

    def kept(self, offset: Offset) -> dict[str, Any]:
        """The offset in plain values."""
        return {"spool": self._spool(), "files": offset}

    def offset(self, kept: dict[str, Any]) -> Offset:
        """What was kept.

        Raises:
            RunError: it is of another spool, or no such thing.
        """
        try:
            found = msgspec.convert(kept, _Kept)
        except msgspec.ValidationError as error:
            message = f"spool {Spool(self._url).shown}: wanted an offset that names its spool, got {kept}: {error}"
            raise RunError(message) from error
        if found.spool != self._spool():
            message = (
                f"the checkpoint of this query: wanted one for spool {self._spool()}, got one for {found.spool}: "
                f"read that one with path, or give the query another checkpointLocation"
            )
            raise RunError(message)
        return found.files

    def _spool(self) -> str:
        if self._known is None:  # Spark asks several times a second, and it does not change
            self._known = about_spool(Spool(self._url)).spool
        return self._known


def about_spool(spool: Spool) -> About:
    """What is in a spool that somebody wants to read. RunError if there is none."""
    about = spool.about()
    if about is None:
        shown = spool.shown
        message = f'format "penstock": wanted the spool of a SparkStream in {shown}, got no {shown}/spool.json'
        raise RunError(message)
    return about
