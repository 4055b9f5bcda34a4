"""What a sink has collected, cut into pieces that are small enough for a message to the driver.

    >>> [(chunk.first, chunk.count) for chunk in row_chunks([("a" * 700_000,), ("b" * 700_000,), ("c",)])]
    [(0, 1), (1, 1), (2, 1)]

The control socket carries heartbeats, too: behind a message of many megabytes they would come late.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from penstock.transport.values import UNENCODABLE, encode_rows, why_it_stays

__all__ = ["MOST_BYTES", "MOST_ROWS", "RowChunk", "row_chunks"]

MOST_ROWS = 10_000
MOST_BYTES = 1 << 20

# Nobody knows yet how large rows are. So many are encoded first, and then as many as those make likely to fit.
_FIRST_ROWS = 64


class RowChunk(msgspec.Struct, frozen=True, kw_only=True):
    """Some of the rows."""

    first: int
    """The number of the first one, from 0."""
    count: int
    rows: bytes
    """By `encode_rows`."""


def row_chunks(rows: Sequence[tuple[Any, ...]]) -> Iterator[RowChunk]:
    """All rows, in order, in chunks of at most MOST_ROWS and MOST_BYTES; a row that is larger by itself goes alone.

    Raises:
        TypeError: a value cannot travel. The text says where it is, and what would do.
    """
    first, count = 0, _FIRST_ROWS
    while first < len(rows):
        chunk = [*rows[first : first + count]]
        encoded = _encoded(chunk)
        fitting = len(chunk) * MOST_BYTES // len(encoded)
        if len(encoded) > MOST_BYTES and len(chunk) > 1:
            count = max(1, min(fitting, len(chunk) // 2))  # at most half, so that it comes to an end
            continue
        yield RowChunk(first=first, count=len(chunk), rows=encoded)
        first += len(chunk)
        count = max(1, min(fitting, MOST_ROWS))


def _encoded(rows: list[tuple[Any, ...]]) -> bytes:
    try:
        return encode_rows(rows)
    except UNENCODABLE:
        reasons = ((position, why_it_stays(value)) for row in rows for position, value in enumerate(row))
        position, why = next((position, why) for position, why in reasons if why is not None)
        message = f"value {position} of a row, counted from 0: {why}"
        raise TypeError(message) from None
