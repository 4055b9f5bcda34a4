"""What flows between tasks: as measured, or as the topology's shape makes likely."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from penstock.plan.edges import Edge
from penstock.plan.load import Traffic
from penstock.plan.schedulers.base import PlanRequest
from penstock.plan.tasks import Task

__all__ = ["Floats", "Flows", "Integers", "LocalFlow", "flows_of"]

Floats: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]

# A thousand tasks that shuffle to a thousand are a million pairs, all alike. Guessing, so many of them will do.
_MOST_GUESSED_TARGETS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalFlow:
    """What one task sends by `local_or_shuffle()`: to the targets on its own worker, or else to all of them."""

    source: int
    targets: tuple[int, ...]
    partner: int
    """The target that schedulers are to keep it together with: where these are on one worker, nothing leaves it."""
    tuples_per_s: float
    bytes_per_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Flows:
    """Pairs of task ids in ascending order, and what flows from the first to the second, wherever they are."""

    measured: bool
    source: Integers
    target: Integers
    tuples_per_s: Floats
    bytes_per_s: Floats
    """Zeros if no bytes were measured at all."""
    local: tuple[LocalFlow, ...]
    """Flows that depend on who is where, and so are not among the pairs."""

    @property
    def in_bytes(self) -> bool:
        """Whether bytes are known, and so what a placement costs is counted in them and not in tuples."""
        return bool(self.bytes_per_s.any()) or any(flow.bytes_per_s for flow in self.local)


def flows_of(request: PlanRequest) -> Flows:
    """What was measured; if nothing was, what the shape makes likely when every spout task emits one tuple a second."""
    traffic = request.traffic
    measured = traffic is not None and bool(traffic.tuples_per_s or traffic.bytes_per_s)
    if traffic is None or not measured:
        traffic = _guessed(request)
    known = {task.id for task in request.tasks}
    tuples = {pair: rate for pair, rate in traffic.tuples_per_s.items() if known.issuperset(pair)}
    sizes = {pair: rate for pair, rate in traffic.bytes_per_s.items() if known.issuperset(pair)}
    if sizes and not tuples.keys() <= sizes.keys():
        _estimate_missing_bytes(request, tuples, sizes)
    local = _taken_out(request, tuples, sizes)
    pairs = list(tuples if sizes.keys() <= tuples.keys() else tuples.keys() | sizes.keys())
    source, target = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    order = np.lexsort((target, source))
    return Flows(
        measured=measured,
        source=source[order],
        target=target[order],
        tuples_per_s=np.array([tuples.get(pair, 0.0) for pair in pairs], dtype=np.float64)[order],
        bytes_per_s=np.array([sizes.get(pair, 0.0) for pair in pairs], dtype=np.float64)[order],
        local=local,
    )


def _estimate_missing_bytes(
    request: PlanRequest, tuples: dict[tuple[int, int], float], sizes: dict[tuple[int, int], float]
) -> None:
    """Gives bytes to pairs that only have tuples: within a worker they pass by reference, and nobody knows their size.

    Without this such a pair would cost nothing when parted, be parted, cost something, and be joined again.
    """
    component = {task.id: task.component for task in request.tasks}
    seen: dict[Any, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for pair in sorted(sizes):
        for kind in ((component[pair[0]], component[pair[1]]), component[pair[0]], None):
            seen[kind][0] += sizes[pair]
            seen[kind][1] += tuples.get(pair, 0.0)
    for pair, rate in tuples.items():
        if pair not in sizes:
            kinds = ((component[pair[0]], component[pair[1]]), component[pair[0]], None)
            known = next((seen[kind] for kind in kinds if kind in seen and seen[kind][1]), None)
            sizes[pair] = rate * known[0] / known[1] if known else 0.0


def _taken_out(
    request: PlanRequest, tuples: dict[tuple[int, int], float], sizes: dict[tuple[int, int], float]
) -> tuple[LocalFlow, ...]:
    """Takes the pairs of `local_or_shuffle()` out of the two, and puts them together by source and edge."""
    members = _members(request)
    groupings: dict[tuple[str, str], set[str]] = defaultdict(set)
    for edge in request.edges:
        groupings[edge.source, edge.target].add(edge.grouping)
    current = request.current.worker_of if request.current else {}
    found = []
    for (source_name, target_name), kinds in sorted(groupings.items()):
        if kinds != {"LocalOrShuffle"}:
            continue  # of two subscriptions to one component nobody knows which tuple came by which
        targets = tuple(task.id for task in members.get(target_name, ()))
        sources = members.get(source_name, ())
        for position, task in enumerate(sources):
            pairs = [(task.id, target) for target in targets]
            partner = targets[position * len(targets) // len(sources)]
            here = current.get(task.id)
            if here is not None and current.get(partner) != here:
                partner = next((target for target in targets if current.get(target) == here), partner)
            flow = LocalFlow(
                source=task.id,
                targets=targets,
                partner=partner,
                tuples_per_s=sum(tuples.pop(pair, 0.0) for pair in pairs),
                bytes_per_s=sum(sizes.pop(pair, 0.0) for pair in pairs),
            )
            if flow.tuples_per_s or flow.bytes_per_s:
                found.append(flow)
    return tuple(found)


def _guessed(request: PlanRequest) -> Traffic:
    """One tuple a second from every spout task on each of its edges; a bolt emits on each as much as it takes."""
    members = _members(request)
    emits = {task.id: 1.0 if task.kind == "spout" else 0.0 for task in request.tasks}
    tuples: dict[tuple[int, int], float] = defaultdict(float)
    for edge in sorted(request.edges, key=lambda edge: edge.id):  # sources before those that read them
        targets = members.get(edge.target, ())
        taken = dict.fromkeys((task.id for task in targets), 0.0)
        for source in members.get(edge.source, ()):
            rate = emits[source.id]
            if not rate or not targets:
                continue
            each = rate if edge.grouping == "Broadcast" else rate / _receivers(edge, targets)
            for target in targets[: _receivers(edge, targets)]:
                taken[target.id] += each
            for target, share in _sample(source, edge, targets):
                tuples[source.id, target.id] += share * each
        for target_id, rate in taken.items():
            emits[target_id] += rate
    return Traffic(tuples_per_s=dict(tuples), bytes_per_s={})


def _receivers(edge: Edge, targets: tuple[Task, ...]) -> int:
    return 1 if edge.grouping == "ToOne" else len(targets)


def _sample(source: Task, edge: Edge, targets: tuple[Task, ...]) -> list[tuple[Task, float]]:
    """The targets with how many each stands for: all of them, or every nth, beginning elsewhere for each source."""
    receivers = targets[: _receivers(edge, targets)]
    if len(receivers) <= _MOST_GUESSED_TARGETS:
        return [(target, 1.0) for target in receivers]
    step = len(receivers) / _MOST_GUESSED_TARGETS
    places = ((source.index + int(turn * step)) % len(receivers) for turn in range(_MOST_GUESSED_TARGETS))
    return [(receivers[place], step) for place in places]


def _members(request: PlanRequest) -> dict[str, tuple[Task, ...]]:
    members: dict[str, list[Task]] = defaultdict(list)
    for task in sorted(request.tasks, key=lambda task: task.id):
        members[task.component].append(task)
    return {name: tuple(tasks) for name, tasks in members.items()}
