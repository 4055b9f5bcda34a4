"""All helpers of one worker, by the edge to the bolt that they help."""

from __future__ import annotations

from penstock.flow.credit import CreditTaker
from penstock.worker.helper_task import HelperTask
from penstock.worker.roster import Roster

__all__ = ["Helpers"]


class Helpers:
    """What can be done for a bolt by the tasks here that feed it.

    Args:
        roster: the tasks of the worker, and so the helpers.
        credit: what is under way to other workers.
        high_water_tuples: how many tuples a helper may have waiting.
    """

    def __init__(self, *, roster: Roster, credit: CreditTaker, high_water_tuples: int) -> None:
        self._roster = roster
        self._credit = credit
        self._high_water_tuples = high_water_tuples

    def _on(self, edge: int) -> list[HelperTask]:
        return [helper for helper in self._roster.helpers if helper.edge == edge and not helper.ended]

    def helpable(self, edge: int) -> bool:
        """Whether tasks of this worker could do the work of the bolt at the end of this edge."""
        return bool(self._on(edge))

    def free(self, edge: int) -> bool:
        """Whether helpers have room, and those that they would feed."""
        return all(
            helper.queued_tuples < self._high_water_tuples and not helper.blocked_by(self._credit.exhausted)
            for helper in self._on(edge)
        )

    def set_share(self, edge: int, share: float) -> None:
        """From now on, this share of what the tasks here emit on an edge is worked on here."""
        for helper in self._on(edge):
            if not share or helper.get_ready():
                helper.host.outputs.set_share(edge, share)

    def share(self, edge: int) -> float:
        """Which share of what the tasks here emit on an edge is worked on here."""
        return max((helper.host.outputs.share(edge) for helper in self._on(edge)), default=0.0)
