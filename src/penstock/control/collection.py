"""The rows that Collect sinks gather in the driver: in order of arrival, and no more than fits."""

from __future__ import annotations

import msgspec

from penstock.control.protocol import Collected
from penstock.control.settings import ControlSettings
from penstock.errors import RunError
from penstock.transport.values import decode_rows, encode_rows

__all__ = ["Collection"]


class Collection:
    """Chunks of rows by sink. To keep only some would be a wrong answer, so too many is an error."""

    def __init__(self, settings: ControlSettings) -> None:
        self._most_rows = settings.max_collected_rows
        self._most_bytes = settings.max_collected_bytes
        self._rows = 0
        self._bytes = 0
        self._chunks: dict[str, list[bytes]] = {}
        self._next: dict[int, int] = {}
        """By task: the number of the next row."""

    def add(self, chunk: Collected) -> None:
        """Keeps a chunk; RunError if there are too many rows or bytes by now. Rows that came before are passed over."""
        if chunk.first is not None:
            wanted = self._next.get(chunk.task, 0)
            if chunk.first + chunk.count <= wanted:
                return
            if chunk.first != wanted:  # some of it came before: chunks are cut elsewhere after a failure
                new = [tuple(row) for row in decode_rows(chunk.rows)[wanted - chunk.first :]]
                chunk = msgspec.structs.replace(chunk, first=wanted, count=len(new), rows=encode_rows(new))
            self._next[chunk.task] = wanted + chunk.count
        rows, size = self._rows + chunk.count, self._bytes + len(chunk.rows)
        if rows > self._most_rows or size > self._most_bytes:
            message = (
                f"sink {chunk.component!r} collects more than the driver may hold: {rows} rows in {size} bytes, and "
                f"max_collected_rows={self._most_rows}, max_collected_bytes={self._most_bytes}; "
                f"write to files instead, or raise the limits"
            )
            raise RunError(message)
        self._rows, self._bytes = rows, size
        self._chunks.setdefault(chunk.component, []).append(chunk.rows)

    def all(self) -> dict[str, tuple[bytes, ...]]:
        """The chunks of every sink."""
        return {component: tuple(chunks) for component, chunks in self._chunks.items()}
