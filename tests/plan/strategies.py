"""Random topologies, clusters, and what was measured on them."""

import random

import msgspec
from hypothesis import strategies as st

from penstock.plan.assignment import Assignment
from penstock.plan.cluster import WorkerSlot
from penstock.plan.edges import edges_of
from penstock.plan.load import Load, Traffic
from penstock.plan.schedulers.base import PlanRequest
from penstock.plan.shape import ComponentShape, InputShape, TopologyShape
from penstock.plan.tasks import tasks_of

GROUPINGS = ("Shuffle", "By", "PartialKey", "Broadcast", "ToOne", "LocalOrShuffle", "Gather", "Direct", "Custom")


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
                inputs=tuple(
                    InputShape(source=source, stream="default", grouping=draw(st.sampled_from(GROUPINGS)))
                    for source in sources
                ),
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


@st.composite
def measured_requests(draw: st.DrawFn, most_tasks: int = 48, most_workers: int = 12) -> PlanRequest:
    """Runs under way: with load, traffic, a current assignment, pins and unequal cores, or with some of these."""
    request = draw(requests.filter(lambda found: len(found.tasks) <= most_tasks and len(found.slots) <= most_workers))
    ids = [task.id for task in request.tasks]
    chance = random.Random(draw(st.integers(0, 2**32)))
    slots = request.slots
    if draw(st.booleans()):
        slots = tuple(msgspec.structs.replace(slot, speed=chance.choice((0.5, 1.0, 2.0))) for slot in slots)
    request = msgspec.structs.replace(request, slots=slots)
    nodes = sorted({slot.node for slot in slots})
    if draw(st.booleans()):
        request = msgspec.structs.replace(request, node_cores={node: chance.choice((0.7, 1.5)) for node in nodes[:2]})
    if draw(st.booleans()):
        scale = draw(st.sampled_from((0.01, 0.2, 0.6)))
        request = msgspec.structs.replace(
            request, load=Load(busy_share={task: chance.random() * scale for task in ids})
        )
    if draw(st.booleans()):
        pairs = {(chance.choice(ids), chance.choice(ids)) for _ in range(3 * len(ids))}
        tuples = {pair: chance.expovariate(0.01) for pair in sorted(pairs)}
        sizes = {pair: rate * 100 for pair, rate in tuples.items() if chance.random() < 0.7}
        with_bytes = draw(st.booleans())
        traffic = Traffic(tuples_per_s=tuples, bytes_per_s=sizes if with_bytes else {})
        request = msgspec.structs.replace(request, traffic=traffic)
    if draw(st.booleans()):
        workers = [slot.worker for slot in slots]
        current = Assignment(number=7, worker_of={task: chance.choice(workers) for task in ids})
        pinned = frozenset(task for task in ids if chance.random() < 0.2)
        state = {task: chance.randrange(10**6) for task in ids if chance.random() < 0.3}
        request = msgspec.structs.replace(request, current=current, pinned=pinned, state_bytes=state)
    return request
