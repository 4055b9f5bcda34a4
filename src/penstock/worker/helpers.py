"""All helpers of one worker, by the edge to the bolt that they help."""

from __future__ import annotations

from penstock.worker.helper_task import HelperTask
from penstock.worker.roster import Roster

__all__ = ["Helpers"]


class Helpers:
    """What can be done for a bolt by the tasks here that feed it.

    Args:
        roster: the tasks of the worker, and so the helpers.
    """

    def __init__(self, roster: Roster) -> None:
        self._roster = roster

    def on(self, edge: int) -> list[HelperTask]:
        """Those that could do the work of the bolt at the end of this edge."""
        return [helper for helper in self._roster.helpers if helper.edge == edge and not helper.ended]

    def set_share(self, edge: int, share: float) -> None:
        """From now on, this share of what the tasks here emit on an edge is worked on here."""
        for helper in self.on(edge):
            if not share or helper.get_ready():
                helper.host.outputs.set_share(edge, share)
