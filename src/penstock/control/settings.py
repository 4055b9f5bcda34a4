"""What a run is made of, and how patient its controller is."""

from __future__ import annotations

import platform

import msgspec

from penstock.checkpoint.manifest import Manifest
from penstock.checkpoint.shape import SavedShape
from penstock.control.load_records import Choice
from penstock.flow.delivery import Delivery
from penstock.plan.edges import Edge
from penstock.plan.schedulers.base import Scheduler
from penstock.plan.tasks import Task
from penstock.version import __version__

__all__ = ["ControlSettings", "RunPlan"]


class RunPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What is to run. Made before anything starts, and never changed."""

    run: str
    """Names the run among all: random."""
    topology: str
    tasks: tuple[Task, ...]
    edges: tuple[Edge, ...]
    help_edges: tuple[Edge, ...] = ()
    """Those on which helpers send what they have done for others."""
    blob: bytes
    """The topology as workers get it."""
    scheduler: Scheduler
    feeds: tuple[str, ...] = ()
    """The spouts that Spark feeds."""
    pinned: dict[int, str] = {}
    """Tasks that cannot move while they run, and why."""
    unscalable: dict[str, str] = {}
    """Components that cannot be given another number of tasks, and why."""
    choice: Choice | None = None
    """How the placement is thought over while the run goes on; None: load is not even measured."""
    checkpoint_url: str | None = None
    """Where tasks are saved, exactly once."""
    shape: SavedShape | None = None
    """The topology, as the checkpoint remembers it."""
    start: Manifest | None = None
    """The epoch that the run goes on from."""
    claim: int = 0
    """The number under which the run has the checkpoint: greater than that of any run before it."""
    notices: tuple[str, ...] = ()
    """What was found out before the start that a person would want to know."""
    penstock_version: str = __version__
    """Workers must have the same."""
    python_version: str = platform.python_version()
    """Workers must have the same up to the minor number, because of the blob."""


class ControlSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many workers, and how long to wait for whom."""

    workers: int
    """How many to ask for."""
    min_workers: int | None = None
    """How few will do when no more come; None: all must come."""
    delivery: Delivery = "at_least_once"
    """What is promised when something dies."""
    epoch_every_s: float = 1.0
    """How often markers are sent: so long can a loss go unnoticed, and so much is done again after a failure."""
    start_timeout_s: float = 60.0
    """How long to wait for the next worker, counted from when the last one came."""
    ready_timeout_s: float = 300.0
    """How long a worker may take to open its tasks."""
    detection_s: float = 1.0
    """How long a worker's process may be out of reach until that is noticed. It is welcome if it answers again."""
    rewind_after_s: float = 0.5
    """Exactly once: how much longer, until everything goes on without it. Twice as long for one that has come back."""
    restart_after_s: float = 5.0
    """How much longer than `detection_s`, until it is fenced off, its job is ended, and started anew."""
    slow_call_s: float = 5.0
    """How long a call of user code may take until a notice names it."""
    max_call_s: float = 60.0
    """How long a call of user code may take until its worker is taken for hung, fenced off, and started anew."""
    rejoin_timeout_s: float = 180.0
    """How long a worker may be missing until the run fails."""
    max_restarts: int = 10
    """How often one worker may be lost within `restart_window_s` until the run fails."""
    restart_window_s: float = 600.0
    stop_timeout_s: float = 10.0
    """How long workers may take to leave until they are ended by force."""
    move_timeout_s: float = 60.0
    """How long workers may take to prepare for tasks that move, until the move is abandoned."""
    release_after_s: float = 30.0
    """How long a worker may have no tasks until its slot is given back."""
    max_workers: int | None = None
    """How many workers there may be when the load wants more than there are; None: as many as at the start."""
    max_collected_rows: int = 1_000_000
    """How many rows Collect sinks may gather in the driver, together."""
    max_collected_bytes: int = 256 << 20

    def __post_init__(self) -> None:
        if self.workers < 1:
            message = f"workers must be at least 1, got {self.workers}"
            raise ValueError(message)
        if self.min_workers is not None and not 1 <= self.min_workers <= self.workers:
            message = f"min_workers must be from 1 to workers={self.workers}, got {self.min_workers}"
            raise ValueError(message)
        if self.max_workers is not None and self.max_workers < self.workers:
            message = f"max_workers must be at least workers={self.workers}, got {self.max_workers}"
            raise ValueError(message)
        if self.epoch_every_s <= 0:
            message = f"epoch_every_s must be above 0, got {self.epoch_every_s}"
            raise ValueError(message)

    @property
    def most_workers(self) -> int:
        """How many workers there may be at most."""
        return self.workers if self.max_workers is None else self.max_workers

    @property
    def fewest_workers(self) -> int:
        """How few workers the run starts with."""
        return self.workers if self.min_workers is None else self.min_workers
