"""Where the tasks of a run are, how far its tuples go, and what was last decided about that."""

from __future__ import annotations

from collections.abc import Iterable

from rich.box import SIMPLE_HEAD
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from penstock.control.decisions import Decision
from penstock.control.metrics import RunMetrics, TaskMetrics
from penstock.control.status import RunStatus, WorkerStatus
from penstock.ui.figures import bar, number, one_line

__all__ = ["placement_view"]

MOST_DECISIONS = 4
MOST_WORKERS = 16
_MOST_MOVES = 3


def placement_view(status: RunStatus, metrics: RunMetrics) -> list[RenderableType]:
    """Workers with their tasks, by node; traffic by distance; the last decisions. Empty before there is a placement."""
    if status.assignment is None or not metrics.tasks or status.phase.is_over:
        return []
    parts: list[RenderableType] = [_workers(status, metrics), _traffic(metrics)]
    labels = {task.task: f"{task.component}[{task.index}]" for task in metrics.tasks}
    parts += [_decision(decision, labels) for decision in status.decisions[-MOST_DECISIONS:]]
    scheduling = status.scheduling
    if scheduling is not None and scheduling.planner != "off":
        parameters = "".join(f" {name}={value}" for name, value in scheduling.parameters.items())
        who = "" if scheduling.planner == "driver" else ", by `penstock scheduler`"
        parts.append(Text(one_line(f"scheduler {status.scheduler}{parameters}{who}"), style="dim"))
        if scheduling.verdict is not None:
            parts.append(Text(one_line(f"{scheduling.verdict_at_s:.0f} s  stays: {scheduling.verdict}"), style="dim"))
    return parts


def _workers(status: RunStatus, metrics: RunMetrics) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("node", overflow="fold")
    table.add_column("worker", justify="right", no_wrap=True)
    table.add_column("busy", no_wrap=True)
    table.add_column(f"tasks (assignment {status.assignment})", overflow="fold")
    tasks = {task.task: task for task in metrics.tasks}
    before = None
    by_node = sorted(status.workers, key=lambda worker: (worker.host or "", worker.node or "", worker.worker))
    for worker in by_node[:MOST_WORKERS]:
        own = [tasks[task] for task in worker.tasks if task in tasks]
        here = (worker.host, worker.node)
        table.add_row(
            Text("" if here == before else worker.host or "?"),
            str(worker.worker),
            bar(sum(task.busy_share for task in own)),
            _tasks_text(worker, own),
        )
        before = here
    if len(by_node) > MOST_WORKERS:
        table.add_row(Text(f"and {len(by_node) - MOST_WORKERS} more"), "", "", "")
    return table


def _tasks_text(worker: WorkerStatus, own: list[TaskMetrics]) -> Text:
    if not own:
        return Text("none", style="dim")
    text = Text(names(own))
    if worker.state not in ("begun", "ended"):
        text.append(f"  {worker.state}", style="yellow")
    return text


def names(tasks: Iterable[TaskMetrics]) -> str:
    """Tasks by name, those of a component together: `split[0-2,5] count[1]`."""
    indexes: dict[str, list[int]] = {}
    for task in tasks:
        indexes.setdefault(task.component, []).append(task.index)
    return " ".join(f"{component}[{_ranges(sorted(own))}]" for component, own in indexes.items())


def _ranges(ascending: list[int]) -> str:
    runs: list[list[int]] = []
    for index in ascending:
        if runs and runs[-1][-1] == index - 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def _traffic(metrics: RunMetrics) -> Text:
    traffic = metrics.traffic
    tuples = (
        traffic.within_workers_tuples_per_s,
        traffic.between_workers_tuples_per_s,
        traffic.between_nodes_tuples_per_s,
    )
    total = sum(tuples) or 1.0
    within, near, far = (f"{number(rate)} tuples/s ({rate / total:.0%})" for rate in tuples)
    return Text.assemble(
        ("within workers ", "dim"),
        within,
        ("  within nodes ", "dim"),
        f"{near}, {number(traffic.between_workers_bytes_per_s)}B/s",
        ("  between nodes ", "dim"),
        f"{far}, {number(traffic.between_nodes_bytes_per_s)}B/s",
    )


def _decision(decision: Decision, labels: dict[int, str]) -> Text:
    styles = {"done": "green", "refused": "yellow", "abandoned": "yellow", "set back": "yellow"}
    moves = [
        f"{labels.get(move.task, f'task {move.task}')} {'' if move.source is None else move.source}→"
        f"{'' if move.target is None else move.target}"
        for move in decision.moves[:_MOST_MOVES]
    ]
    if len(decision.moves) > _MOST_MOVES:
        moves.append(f"and {len(decision.moves) - _MOST_MOVES} more")
    took = "" if decision.took_s is None or decision.state != "done" else f" in {decision.took_s:.2f} s"
    reason = decision.why if decision.reason is None else f"{decision.reason} ({decision.why})"
    return Text.assemble(
        (f"{decision.at_s:.0f} s  ", "dim"),
        (f"{decision.state}{took}", styles.get(decision.state, "")),
        "  ",
        one_line(f"{', '.join(moves)}{'  ' if moves else ''}{decision.by}: {reason}"),
    )
