"""One query at a time reads a spool: each that begins leaves a mark, and is refused while another lives.

    reader-ID.json                  the process that plans the batches of a query, and where it runs

Whether a process lives can be known on its own node only. What comes from elsewhere is taken over. Should that query
be alive, then it, or this one, will find that the other has taken more, and fail: see `Spool`. So the mark does not
guard the rows. It is there to refuse the second query and not the first, and at its start.
"""

from __future__ import annotations

import re
import secrets
import time

import msgspec

from penstock.connectors.spool import Spool
from penstock.errors import RunError
from penstock.spark.node import node_identity
from penstock.transport.process_identity import ProcessIdentity

__all__ = ["OnlyReader"]

_MARK = re.compile(r"reader-[0-9a-f]+\.json")

# A query that was stopped takes a moment to end its process.
_PATIENCE_S = 10.0
_LOOK_EVERY_S = 0.05


class _Reader(msgspec.Struct, frozen=True, kw_only=True):
    node: str
    process: ProcessIdentity

    def may_live(self) -> bool:
        return self.node == node_identity() and not self.process.is_provably_dead()


class OnlyReader:
    """A query, as the reader of a spool."""

    def __init__(self, url: str) -> None:
        self._spool = Spool(url)
        self._name: str | None = None

    def take(self) -> None:
        """Makes sure, the first time, that nobody else reads.

        Raises:
            RunError: another query does, and does not stop.
        """
        if self._name is not None:
            return
        deadline_s = time.monotonic() + _PATIENCE_S
        while living := self._others():
            if time.monotonic() >= deadline_s:
                self._refuse(living)
            time.sleep(_LOOK_EVERY_S)
        name = f"reader-{secrets.token_hex(4)}.json"
        mark = _Reader(node=node_identity(), process=ProcessIdentity.current())
        self._spool.folder.put(name, msgspec.json.encode(mark))
        self._name = name
        if living := self._others():  # which has begun in the same instant
            self.release()
            self._refuse(living)

    def release(self) -> None:
        """Lets others read."""
        if self._name is not None:
            self._spool.folder.delete(self._name)
            self._name = None

    def _others(self) -> list[_Reader]:
        """Those that may live; the marks of others are removed."""
        found = []
        for name in self._spool.folder.sizes():
            if name == self._name or not _MARK.fullmatch(name):
                continue
            content = self._spool.folder.read(name)
            reader = None if content is None else msgspec.json.decode(content, type=_Reader)
            if reader is not None and reader.may_live():
                found.append(reader)
            else:
                self._spool.folder.delete(name)
        return found

    def _refuse(self, living: list[_Reader]) -> None:
        pids = ", ".join(str(reader.process.pid) for reader in living)
        message = (
            f"spool {self._spool.shown}: wanted to be its only reader, got another query that reads it (planned in "
            f"process {pids} of this node): stop that, or give the topology a second sink"
        )
        raise RunError(message)
