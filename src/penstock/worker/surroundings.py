"""What a worker knows of the tasks around its own, as the control of pressure asks for it."""

from __future__ import annotations

from collections.abc import Collection

from penstock.worker.helpers import Helpers
from penstock.worker.roster import Roster
from penstock.worker.wiring import Wiring

__all__ = ["WiredSurroundings"]


class WiredSurroundings:
    """By the ways between tasks; see penstock.flow.pressure.Surroundings.

    Args:
        worker: its number.
        wiring: the ways.
        roster: the tasks here.
        helpers: what could help here.
    """

    def __init__(self, *, worker: int, wiring: Wiring, roster: Roster, helpers: Helpers) -> None:
        self._worker = worker
        self._wiring = wiring
        self._roster = roster
        self._helpers = helpers

    @property
    def assignment(self) -> int:
        """See Surroundings."""
        return self._wiring.places.assignment

    def feeding(self, task: int) -> Collection[int]:
        """See Surroundings."""
        bolt = self._roster.bolt_by_task.get(task)
        places = self._wiring.places.now
        return set() if bolt is None else {places[source] for source in bolt.sources if source in places}

    def askable(self, task: int) -> Collection[int]:
        """See Surroundings."""
        if self.why_alone(task) is not None:
            return set()
        places, assigned = self._wiring.places.now, self._wiring.assigned
        component = assigned.by_id[task].component
        able = [edge for edge in self._wiring.edges if edge.target == component and edge.helped and edge.via is None]
        return {places[source.id] for edge in able for source in assigned.of[edge.source]} - {self._worker}

    def why_alone(self, task: int) -> str | None:
        """Why nobody should do the work of a task here, as far as can be seen now; None if others may."""
        bolt = self._roster.bolt_by_task.get(task)
        return None if bolt is None or bolt.opened is None else bolt.opened.why_alone(bolt.logic)

    def help_edges(self, target: int) -> Collection[int]:
        """See Surroundings."""
        return [edge for edge in self._edges_to(target) if self._helpers.on(edge)]

    def is_fed(self, target: int) -> bool:
        """See Surroundings."""
        return bool(self._edges_to(target))

    def _edges_to(self, target: int) -> list[int]:
        task = self._wiring.assigned.by_id.get(target)
        if task is None:
            return []
        here = {running.component for running in self._roster.all}
        return [edge.id for edge in self._wiring.edges if edge.target == task.component and edge.source in here]
