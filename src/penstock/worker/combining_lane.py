"""The lane of an edge whose tuples may be put together on the way: it ends in the worker's uplink."""

from __future__ import annotations

from itertools import starmap
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.transport.values import UNENCODABLE, portable_rows
from penstock.worker.arrival import Marker
from penstock.worker.batches import rows_of
from penstock.worker.lanes import Lane, Refusal, RootedTuples
from penstock.worker.uplinks import Uplink

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["CombiningLane"]

_encode = msgspec.msgpack.Encoder().encode


class CombiningLane(Lane):
    """To the worker's uplink, by reference. Record batches go as their rows."""

    def __init__(self, *, uplink: Uplink, **common: Any) -> None:
        super().__init__(**common)
        self._uplink = uplink
        uplink.lanes[self.source] = self

    def _pass_tuples(self, some: RootedTuples, origin_ns: int, now_ns: int, refused: list[Refusal]) -> None:  # noqa: ARG002
        if self._uplink.to_one.receiver is None:
            some = self._able_to_travel(some, refused)
        self.sent_tuples += len(some.tuples)
        made = starmap(self._uplink.to_one.make, some.tuples)
        self._uplink.take(self.source, made, some.runs, origin_ns)

    def _able_to_travel(self, some: RootedTuples, refused: list[Refusal]) -> RootedTuples:
        """Found out before they are put together: one that cannot travel would keep all the others back."""
        try:
            _encode(portable_rows(some.tuples))
        except UNENCODABLE:
            return self._without_untravelled(some, refused)
        return some

    def _pass_batch(
        self, batch: pa.RecordBatch, root: int, origin_ns: int, now_ns: int, refused: list[Refusal]
    ) -> None:
        runs = () if self.tracking is None else ((root, batch.num_rows),)
        self._pass_tuples(RootedTuples([*rows_of(batch)], runs), origin_ns, now_ns, refused)

    def put_marker(self, marker: Marker) -> None:  # noqa: D102
        self._uplink.put_marker(self.source, marker)
