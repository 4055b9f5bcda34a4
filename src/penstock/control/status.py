"""How far a run is and who takes part, as people are told."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

import msgspec

from penstock.control.decisions import Decision
from penstock.control.pressure_metrics import PressureMetrics
from penstock.control.scheduling import SchedulingStatus
from penstock.control.tables import html_of, text_table

__all__ = ["Phase", "RunStatus", "WorkerState", "WorkerStatus"]


class Phase(StrEnum):
    """How far a run is. It only ever goes forward in this list."""

    STARTING = "starting"
    """Workers are awaited."""
    DEPLOYING = "deploying"
    """They have been told what to run, and open their tasks."""
    RUNNING = "running"
    DRAINING = "draining"
    """Spouts have been ended; the rest is finished."""
    STOPPING = "stopping"
    """Workers have been told to leave."""
    ENDED = "ended"
    FAILED = "failed"

    @property
    def is_over(self) -> bool:
        """Whether nothing more will happen."""
        return self in (Phase.ENDED, Phase.FAILED)

    @property
    def needs_workers(self) -> bool:
        """Whether a worker that is missing has to come, or come back."""
        return self in (Phase.STARTING, Phase.DEPLOYING, Phase.RUNNING, Phase.DRAINING)


WorkerState = Literal["awaited", "admitted", "deployed", "ready", "begun", "ended", "silent", "left", "released"]


class WorkerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One worker."""

    worker: int
    state: WorkerState
    generation: int
    """How many processes have been this worker so far."""
    host: str | None
    pid: int | None
    node: str | None
    tasks: tuple[int, ...]
    silent_s: float | None
    """Since when nothing was heard of it; None if it is not there."""


class RunStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How far a run is and who takes part."""

    run: str
    topology: str
    phase: Phase
    run_s: float
    """Seconds since the first tuple could flow."""
    scheduler: str
    assignment: int | None
    workers: tuple[WorkerStatus, ...]
    restarts: int
    """How often a worker was lost and replaced, in all."""
    notices: tuple[str, ...]
    """What happened that a person would want to know, oldest first."""
    error: str | None
    """Why it fails or failed."""
    decisions: tuple[Decision, ...] = ()
    """The last ones about where tasks run, oldest first."""
    pressures: tuple[PressureMetrics, ...] = ()
    """The bolts that have more to do than they can just now, and whom they stop; the worst first."""
    scheduling: SchedulingStatus | None = None
    """Who plans meanwhile; None where nothing is measured."""

    def __repr__(self) -> str:
        return "\n".join([self._headline(), *text_table(_WORKER_COLUMNS, self._worker_rows()), *self._remarks()])

    def _repr_html_(self) -> str:
        """In a notebook."""
        return html_of(self._headline(), _WORKER_COLUMNS, self._worker_rows(), self._remarks())

    def _headline(self) -> str:
        restarts = f", {self.restarts} restart{'s' if self.restarts > 1 else ''}" if self.restarts else ""
        placed = "" if self.assignment is None else f", assignment {self.assignment} by {self.scheduler}"
        return f"run {self.run} of {self.topology}: {self.phase}, {self.run_s:.1f} s{placed}{restarts}"

    def _worker_rows(self) -> list[tuple[object, ...]]:
        return [
            (one.worker, one.state, one.host, str(one.pid or ""), len(one.tasks), one.silent_s) for one in self.workers
        ]

    def _remarks(self) -> list[str]:
        decisions = [f"{one.by}: {one.why}: {one.state}" for one in self.decisions[-_MOST_REMARKS:]]
        notices = [f"· {notice}" for notice in self.notices[-_MOST_REMARKS:]]
        errors = [] if self.error is None else [f"error: {self.error}"]
        return [*map(str, self.pressures), *decisions, *notices, *errors]


_WORKER_COLUMNS = ("worker", "state", "host", "pid", "tasks", "silent s")
_MOST_REMARKS = 5
