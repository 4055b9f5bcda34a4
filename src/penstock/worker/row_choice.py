"""Groupings that decide by row, over record batches: the rows stay in batches.

As tuples they would lose their types: what a bolt makes a batch of again has those that can be guessed, and a map can
only be taken for a struct.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from penstock.flow.two_choices import TwoChoices
from penstock.topology.groupings import Grouping
from penstock.worker.batches import rows_of
from penstock.worker.lanes import Lane
from penstock.worker.routing import compile_grouping

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["RowChoice"]


class _Board:
    """What the grouping takes for a lane: notes the number of the row that is being put."""

    def __init__(self) -> None:
        self.row = 0
        self.chosen: list[int] = []

    def append(self, values: Any) -> None:  # noqa: ARG002
        self.chosen.append(self.row)


class RowChoice:
    """Has a grouping choose the lanes of each row, and puts the rows of each lane there together."""

    def __init__(self, grouping: Grouping, lanes: Sequence[Lane], fields: Sequence[str], choices: TwoChoices) -> None:
        self._lanes = lanes
        self._boards = [_Board() for _ in lanes]
        self._routing = compile_grouping(grouping, cast("Sequence[Lane]", self._boards), fields, choices)

    def put_batch(self, batch: pa.RecordBatch) -> None:
        """Puts a record batch. If a row has no place, those before it have theirs."""
        import pyarrow as pa

        try:
            for number, row in enumerate(rows_of(batch)):
                for board in self._boards:
                    board.row = number
                self._routing.put(row)
        finally:
            for lane, board in zip(self._lanes, self._boards, strict=True):
                if board.chosen:
                    lane.put_batch(batch.take(pa.array(board.chosen, pa.int64())))
                    board.chosen = []
