"""Why an assignment is as it is, for people: words and a picture."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from penstock.plan.assignment import Assignment
from penstock.plan.move_reasons import MoveReasons
from penstock.plan.predicted import Predicted, Volume, predict
from penstock.plan.schedulers.base import PlanRequest
from penstock.plan.shares import CAPACITY_FRACTION, busy_shares
from penstock.plan.tasks import Task

__all__ = ["explain"]

_BAR = 24


def explain(request: PlanRequest, proposed: Assignment, node_names: Mapping[str, str] | None = None) -> str:
    """Before and after: who is where, what flows where, and why each task moves. Plain text, for a terminal.

    `node_names` says what people call a node; without it, it is shown by what the request calls it.
    """
    names = {slot.node: (node_names or {}).get(slot.node, slot.node) for slot in request.slots}
    current = _usable(request)
    after = predict(request, proposed)
    parts = []
    if current is not None:
        parts += [_placement("before", request, current, names)]
    parts += [_placement("after" if current else "placement", request, proposed, names)]
    parts += [_traffic(None if current is None else predict(request, current), after)]
    parts += [_moves(request, proposed, names), *_notes(request, after, names)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _usable(request: PlanRequest) -> Assignment | None:
    """The current assignment, if it has all tasks on workers that are there: only then is there a before."""
    current, workers = request.current, {slot.worker for slot in request.slots}
    if current is None or any(current.worker_of.get(task.id) not in workers for task in request.tasks):
        return None
    return current


def _placement(title: str, request: PlanRequest, assignment: Assignment, names: Mapping[str, str]) -> str:
    busy = busy_shares(request)
    measured = request.load is not None and bool(request.load.busy_share)
    tasks = {task.id: task for task in request.tasks}
    lines = [title]
    for node in sorted({slot.node for slot in request.slots}, key=lambda node: (names[node], node)):
        lines.append(f"  ┌ node {names[node]}")
        for slot in sorted((slot for slot in request.slots if slot.node == node), key=lambda slot: slot.worker):
            own = assignment.tasks_on(slot.worker)
            share = sum(busy[task] for task in own) / slot.speed
            load = f"{_bar(share, 10)} {share:>5.0%}  " if measured else ""
            lines.append(f"  │ worker {slot.worker:<3} {load}{_listed(tasks[task] for task in own) or '(empty)'}")
    return "\n".join(lines)


def _listed(tasks: Iterable[Task]) -> str:
    """`split[0-2,5] count[1]`."""
    indexes: dict[str, list[int]] = defaultdict(list)
    for task in tasks:
        indexes[task.component].append(task.index)
    return " ".join(f"{component}[{_ranges(sorted(own))}]" for component, own in indexes.items())


def _ranges(numbers: list[int]) -> str:
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def _traffic(before: Predicted | None, after: Predicted) -> str:
    in_bytes = after.bytes_per_s.total > 0
    unit = "bytes/s" if in_bytes else "tuples/s"
    if not after.traffic_measured:
        unit += ", by the topology's shape, with one from every spout task"
    shown = [("before", before), ("after", after)]
    lines = [f"traffic ({unit})"]
    for place in ("within_workers", "between_workers", "between_nodes"):
        for title, predicted in shown:
            if predicted is not None:
                volume: Volume = predicted.bytes_per_s if in_bytes else predicted.tuples_per_s
                rate: float = getattr(volume, place)
                share = rate / volume.total if volume.total else 0.0
                label = place.replace("_", " ") if predicted is (before or after) else ""
                lines.append(f"  {label:<16} {title:<6} {_bar(share, _BAR)} {share:>4.0%}  {rate:>14,.0f}")
    return "\n".join(lines)


def _bar(share: float, width: int) -> str:
    full = min(width, round(share * width))
    return "█" * full + "░" * (width - full)


def _moves(request: PlanRequest, proposed: Assignment, names: Mapping[str, str]) -> str:
    current = request.current or Assignment(number=0, worker_of={})
    labels = {task.id: task.label for task in request.tasks}
    node_of = {slot.worker: names[slot.node] for slot in request.slots}

    def place(worker: int) -> str:
        return f"worker {worker} (node {node_of[worker]})" if worker in node_of else f"worker {worker}, which is gone,"

    if not current.worker_of:
        return ""
    reasons = MoveReasons(request, proposed)
    lines = []
    for move in current.moved(proposed):
        if move.target is None or move.task not in labels:
            continue
        source = "" if move.source is None else f" from {place(move.source)}"
        verb = "is put" if move.source is None else "moves"
        lines.append(f"  {labels[move.task]} {verb}{source} to {place(move.target)}: {reasons.of(move)}")
    return "\n".join([f"{len(lines)} of {len(request.tasks)} tasks move", *lines]) if lines else "no task moves"


def _notes(request: PlanRequest, after: Predicted, names: Mapping[str, str]) -> list[str]:
    """What cannot be helped by placing."""
    notes = []
    if after.load_measured and after.busiest_worker_share > CAPACITY_FRACTION + 1e-6:
        notes.append(
            f"worker {after.busiest_worker} will still be {after.busiest_worker_share:.0%} busy, more than "
            f"{CAPACITY_FRACTION:.0%}: what is too much for all workers is spread as evenly as can be"
        )
    if after.load_measured and after.busiest_node_share > CAPACITY_FRACTION + 1e-6:
        notes.append(f"node {names[after.busiest_node]} will take {after.busiest_node_share:.0%} of its cores")
    pinned = sorted(task for task in request.fixed())
    if pinned:
        labels = {task.id: task.label for task in request.tasks}
        notes.append("pinned, and not moved: " + ", ".join(labels[task] for task in pinned))
    return ["note: " + "\nnote: ".join(notes)] if notes else []
