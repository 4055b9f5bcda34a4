"""The lane of a broadcast: one for all tasks of the target on other workers, so that a frame is encoded once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.flow.runs import Runs
from penstock.worker.arrival import Marker
from penstock.worker.cast_sender import CastSender
from penstock.worker.lanes import RemoteLane

__all__ = ["CastLane"]


class CastLane(RemoteLane):
    """To several tasks of other workers."""

    most_frame_bytes = 128 << 10
    """Less than else: along a chain of workers, the first part of what is passed on in parts arrives sooner."""

    def __init__(self, *, sender: CastSender, targets: Sequence[int], **common: Any) -> None:
        _, stands_for_all = sender.channel
        # A frame's route has no room for it, and needs none: a broadcast is for everybody.
        super().__init__(sender=sender, target=0, **common)
        self._cast = sender
        self.target = stands_for_all
        self.targets = tuple(targets)

    def put_marker(self, marker: Marker) -> None:
        """Passes a marker on, behind everything that was flushed."""
        super().put_marker(marker)
        if marker.ends:
            self._cast.end()

    def retire(self) -> None:
        """See Lane."""
        self._cast.retire()

    def _count(self, runs: Runs, frame: int) -> None:
        """Every task will process it, and take away from the sum of its trees what is added here."""
        several = len(self.targets)
        super()._count([(root, count * several) for root, count in runs], frame)
