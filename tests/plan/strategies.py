"""Random topologies and clusters."""

from hypothesis import strategies as st

from penstock.plan.cluster import WorkerSlot
from penstock.plan.edges import edges_of
from penstock.plan.schedulers.base import PlanRequest
from penstock.plan.shape import ComponentShape, InputShape, TopologyShape
from penstock.plan.tasks import tasks_of


@st.composite
def shapes(draw: st.DrawFn) -> TopologyShape:
    """Acyclic topologies whose components are declared in any order."""
    names = [f"c{number}" for number in range(draw(st.integers(1, 8)))]
    components = []
    for position, name in enumerate(names):
        sources = draw(st.lists(st.sampled_from(names[:position]), max_size=3)) if position else []
        components.append(
            ComponentShape(
                name=name,
                kind="bolt" if sources else "spout",
                tasks=draw(st.integers(1, 6)),
                inputs=tuple(InputShape(source=source, stream="default", grouping="Shuffle") for source in sources),
            )
        )
    return TopologyShape(name="random", components=tuple(draw(st.permutations(components))))


@st.composite
def slots(draw: st.DrawFn) -> tuple[WorkerSlot, ...]:
    """Workers on nodes; numbers need not be dense, because some workers may not have come."""
    workers = draw(st.sets(st.integers(0, 50), min_size=1, max_size=12))
    return tuple(WorkerSlot(worker=worker, node=draw(st.sampled_from("abcd"))) for worker in sorted(workers))


requests = st.builds(
    lambda shape, slots: PlanRequest(tasks=tasks_of(shape), edges=edges_of(shape), slots=slots), shapes(), slots()
)
