"""Requests that tests write down by hand."""

from collections.abc import Mapping

from penstock.plan.cluster import WorkerSlot
from penstock.plan.edges import edges_of
from penstock.plan.load import Load, Traffic
from penstock.plan.schedulers.base import PlanRequest
from penstock.plan.shape import ComponentShape, InputShape, TopologyShape
from penstock.plan.tasks import Task, tasks_of


def component(name: str, tasks: int, *inputs: tuple[str, str]) -> ComponentShape:
    """A component and what it takes: (source, grouping)."""
    return ComponentShape(
        name=name,
        kind="bolt" if inputs else "spout",
        tasks=tasks,
        inputs=tuple(InputShape(source=source, stream="default", grouping=grouping) for source, grouping in inputs),
    )


def cluster(nodes: int, workers_per_node: int) -> tuple[WorkerSlot, ...]:
    """Nodes n0, n1, …, with as many workers each."""
    return tuple(
        WorkerSlot(worker=worker, node=f"n{worker // workers_per_node}") for worker in range(nodes * workers_per_node)
    )


def shaped(slots: tuple[WorkerSlot, ...], *components: ComponentShape) -> PlanRequest:
    """A topology of which nothing is measured."""
    shape = TopologyShape(name="by hand", components=components)
    return PlanRequest(tasks=tasks_of(shape), edges=edges_of(shape), slots=slots)


def measured(
    slots: tuple[WorkerSlot, ...],
    tuples_per_s: Mapping[tuple[int, int], float],
    busy_share: Mapping[int, float] | None = None,
) -> PlanRequest:
    """Tasks that are known by what flows between them alone."""
    count = 1 + max(max(pair) for pair in tuples_per_s)
    return PlanRequest(
        tasks=tuple(Task(id=number, component=f"t{number}", index=0, kind="bolt") for number in range(count)),
        edges=(),
        slots=slots,
        load=None if busy_share is None else Load(busy_share=dict(busy_share)),
        traffic=Traffic(tuples_per_s=dict(tuples_per_s), bytes_per_s={}),
    )
