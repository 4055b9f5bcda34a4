"""Sinks that want whatever arrives as it arrives: many tuples at once, or a record batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from penstock.topology.bolts import BaseBolt
from penstock.topology.tuples import Tuple

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ArrowSink"]


class ArrowSink(BaseBolt):
    """A sink that turns what it is given into Arrow by itself. For runtimes; users derive from the other bolts."""

    def take_tuples(self, tuples: Sequence[Tuple | tuple[Any, ...]]) -> None:
        """Some tuples of one source, in order. Those of the same worker come as the plain values."""
        raise NotImplementedError

    def take_batch(self, batch: pa.RecordBatch) -> None:
        """A record batch, untouched."""
        raise NotImplementedError
