"""Metrics as workers report them, and as the controller sums them up for people."""

from __future__ import annotations

import msgspec

from penstock.control.pressure_metrics import PressureMetrics
from penstock.control.tables import html_of, text_table
from penstock.flow.relief import ReliefState
from penstock.plan.shape import ComponentKind

__all__ = [
    "ComponentMetrics",
    "EdgeMetrics",
    "FailureMetrics",
    "HelpCounts",
    "Latency",
    "PairCounts",
    "RunMetrics",
    "TaskCounts",
    "TaskMetrics",
    "TrafficMetrics",
]


class TaskCounts(msgspec.Struct, frozen=True, kw_only=True):
    """What one task has done since its worker began, and what waits for it now."""

    task: int
    processed: int = 0
    """Tuples that it took in, those that failed included. For a spout: calls of `next` that gave something."""
    emitted: int = 0
    failed: int = 0
    busy_ns: int = 0
    redirected: int = 0
    """How many of what it processed workers with time to spare have worked on."""
    backlog: int = 0
    """Tuples that wait for it now."""
    pressure: ReliefState = ReliefState.FLOWING
    """Whether it has too much to do, and what comes of that."""
    asked_ns: int = 0
    """How long it had asked for help."""
    stopping_ns: int = 0
    """How long it had others stopped."""
    episodes: int = 0
    """How often it had too much."""
    stopped_by: dict[int, int] = {}
    """How long, in nanoseconds, each task had this one stopped."""
    stopped_now: tuple[int, ...] = ()
    """The tasks that have it stopped now."""


class HelpCounts(msgspec.Struct, frozen=True, kw_only=True):
    """What was done of a bolt's work by a task that feeds it, since its worker began."""

    edge: int
    """From the task to the bolt."""
    task: int
    processed: int = 0
    emitted: int = 0
    failed: int = 0
    busy_ns: int = 0
    backlog: int = 0
    """Tuples that wait for it now."""
    share: float = 0.0
    """Which share of what the task emits on the edge it works on itself, now."""


class PairCounts(msgspec.Struct, frozen=True, kw_only=True):
    """What one task has sent to another over one edge since its worker began. Counted by the sender."""

    edge: int
    source: int
    target: int
    tuples: int = 0
    bytes: int = 0
    """0 for tuples that were passed by reference, within a worker."""


class Latency(msgspec.Struct, frozen=True, kw_only=True):
    """A latency histogram in a few numbers."""

    count: int
    mean_ns: float
    p50_ns: int
    p99_ns: int
    max_ns: int


class TaskMetrics(msgspec.Struct, frozen=True, kw_only=True):
    """One task: where it runs, and what it did in all its lives together."""

    task: int
    component: str
    index: int
    worker: int | None
    """None before there is an assignment."""
    processed: int
    emitted: int
    failed: int
    busy_ns: int
    backlog: int
    processed_per_s: float
    emitted_per_s: float
    busy_share: float
    """Which part of the time between the last two reports it was at work."""


class ComponentMetrics(msgspec.Struct, frozen=True, kw_only=True):
    """One component: the sum of its tasks, and of those who help them."""

    name: str
    kind: ComponentKind
    tasks: int
    processed: int
    """Tuples that it took in, those that failed included."""
    helped: int
    """How many of them others have worked on: those that feed it, and whoever had time to spare."""
    emitted: int
    failed: int
    backlog: int
    """Tuples that wait for its tasks and for those who help them."""
    processed_per_s: float
    emitted_per_s: float
    busy_share: float
    """The mean of its tasks'."""
    busiest_share: float
    """That of its busiest task."""
    latency: Latency | None
    """From the spout to the end of its own work on a tuple, lately; None if nobody measured it."""


class EdgeMetrics(msgspec.Struct, frozen=True, kw_only=True):
    """One edge: the sum of its pairs of tasks."""

    edge: int
    via: str | None
    """The bolt whose work the source's tasks do, if this is what they send in its stead."""
    source: str
    stream: str
    target: str
    tuples: int
    bytes: int
    tuples_per_s: float
    bytes_per_s: float
    hop: Latency | None
    """From one task's emission to the next one's hands, lately; None if nobody measured it."""


class TrafficMetrics(msgspec.Struct, frozen=True, kw_only=True):
    """What flows between tasks in a second, by how far it goes. By reference, within a worker, no bytes are counted."""

    within_workers_tuples_per_s: float = 0.0
    between_workers_tuples_per_s: float = 0.0
    """Between workers of one node."""
    between_nodes_tuples_per_s: float = 0.0
    between_workers_bytes_per_s: float = 0.0
    between_nodes_bytes_per_s: float = 0.0


class FailureMetrics(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of exception in user code: how often, and what the first one looked like."""

    component: str
    kind: str
    count: int
    message: str
    traceback: str
    task: int
    """The task that met it first."""


class RunMetrics(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is counted in a run."""

    run_s: float
    """Seconds since the run began to process; 0 before."""
    components: tuple[ComponentMetrics, ...]
    tasks: tuple[TaskMetrics, ...]
    edges: tuple[EdgeMetrics, ...]
    traffic: TrafficMetrics = TrafficMetrics()
    end_to_end: Latency | None
    """From the spout to the end of the work of components that nobody reads, since the run began."""
    end_to_end_histogram: bytes | None
    """The whole of it, for penstock._native.Histogram.from_bytes."""
    lost: int
    """Tuples that workers know they could not deliver."""
    unaccounted: int
    """Tuples sent to tasks that have not processed them: on their way, in a backlog, or gone with a dead worker.

    When a run has ended by itself or by drain, they bound the loss from above: what a worker that died had processed
    since its last report is among them. While it runs, most are just on their way.
    """
    failures: tuple[FailureMetrics, ...]
    pressures: tuple[PressureMetrics, ...] = ()
    """The bolts that have, or had, more to do than they can, and whom they stop; the worst first."""

    def __repr__(self) -> str:
        return "\n".join([self._headline(), *text_table(_COLUMNS, self._rows()), *self._remarks()])

    def _repr_html_(self) -> str:
        """In a notebook."""
        return html_of(self._headline(), _COLUMNS, self._rows(), self._remarks())

    def _headline(self) -> str:
        lost = f", {self.lost:,} tuples lost" if self.lost else ""
        latency = self.end_to_end
        told = (
            ""
            if latency is None
            else f", end to end p50 {latency.p50_ns / 1e6:.3g} ms, p99 {latency.p99_ns / 1e6:.3g} ms"
        )
        return f"metrics after {self.run_s:.1f} s{told}{lost}"

    def _rows(self) -> list[tuple[object, ...]]:
        return [
            (
                *(one.name, one.kind, one.tasks, one.processed, one.emitted, one.failed, one.backlog),
                *(one.processed_per_s, one.emitted_per_s, f"{one.busiest_share:.0%}"),
            )
            for one in self.components
        ]

    def _remarks(self) -> list[str]:
        pressed = [str(one) for one in self.pressures if one.state is not ReliefState.FLOWING]
        return pressed + [f"{one.component}: {one.count:,} × {one.kind}: {one.message}" for one in self.failures]


_COLUMNS = ("component", "kind", "tasks", "processed", "emitted", "failed", "waits", "in/s", "out/s", "busiest")
