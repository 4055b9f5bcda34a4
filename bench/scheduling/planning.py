"""How long a plan takes: `python -m bench.scheduling.planning`."""

import random
import time

import msgspec

from penstock.plan.cluster import WorkerSlot
from penstock.plan.edges import edges_of
from penstock.plan.load import Load, Traffic
from penstock.plan.problem import CostSettings, problem_of
from penstock.plan.schedulers.base import PlanRequest, checked_plan
from penstock.plan.schedulers.registry import scheduler
from penstock.plan.shape import ComponentShape, InputShape, TopologyShape
from penstock.plan.tasks import tasks_of

SIZES = ((1_000, 100), (10_000, 1_000))
SCHEDULERS = ("even", "t-storm", "turbo", "penstock")
_COMPONENTS = 10
_WORKERS_PER_NODE = 4
_TARGETS = 22
_NEAR = 20


class Planned(msgspec.Struct, frozen=True, kw_only=True):
    """One plan of one scheduler."""

    scheduler: str
    tasks: int
    nodes: int
    pairs: int
    wall_s: float
    cpu_s: float
    cost_over_even: float
    """The weighted traffic between workers and nodes, over that of `even`."""
    overload: float
    workers_used: int


def measure(sizes: tuple[tuple[int, int], ...] = SIZES) -> tuple[Planned, ...]:
    """Plans for topologies of so many tasks on so many nodes, from what was measured on them."""
    planned = []
    for tasks, nodes in sizes:
        request = large_request(tasks, nodes)
        problem = problem_of(request, CostSettings())
        even = problem.traffic_cost(problem.places(scheduler("even").plan(request)))
        for name in SCHEDULERS:
            began_s, began_cpu_s = time.perf_counter(), time.process_time()
            assignment = checked_plan(scheduler(name), request)
            wall_s, cpu_s = time.perf_counter() - began_s, time.process_time() - began_cpu_s
            places = problem.places(assignment)
            planned.append(
                Planned(
                    scheduler=name,
                    tasks=tasks,
                    nodes=nodes,
                    pairs=len(problem.volume),
                    wall_s=wall_s,
                    cpu_s=cpu_s,
                    cost_over_even=problem.traffic_cost(places) / even,
                    overload=problem.overload(places),
                    workers_used=len(assignment.workers()),
                )
            )
    return tuple(planned)


def large_request(tasks: int, nodes: int) -> PlanRequest:
    """A chain of ten components whose tasks send to some twenty others each, half of them near by; half loaded."""
    chance = random.Random(1)
    per_component = tasks // _COMPONENTS
    shape = TopologyShape(
        name="large",
        components=tuple(
            ComponentShape(
                name=f"c{number}",
                kind="bolt" if number else "spout",
                tasks=per_component,
                inputs=(InputShape(source=f"c{number - 1}", stream="default", grouping="Shuffle"),) if number else (),
            )
            for number in range(_COMPONENTS)
        ),
    )
    tuples: dict[tuple[int, int], float] = {}
    known = tasks_of(shape)
    for task in known[:-per_component]:
        first = task.id - task.index + per_component
        for turn in range(_TARGETS):
            near = task.index + chance.randrange(-_NEAR, _NEAR)
            target = first + (near if turn % 2 else chance.randrange(per_component)) % per_component
            tuples[task.id, target] = chance.expovariate(0.01)
    workers = nodes * _WORKERS_PER_NODE
    return PlanRequest(
        tasks=known,
        edges=edges_of(shape),
        slots=tuple(WorkerSlot(worker=worker, node=f"n{worker // _WORKERS_PER_NODE:04}") for worker in range(workers)),
        load=Load(busy_share={task.id: chance.uniform(0.2, 1.8) * 0.5 * workers / tasks for task in known}),
        traffic=Traffic(tuples_per_s=tuples, bytes_per_s={pair: rate * 150 for pair, rate in tuples.items()}),
    )


if __name__ == "__main__":
    print(
        f"{'scheduler':<10}{'tasks':>8}{'nodes':>7}{'pairs':>9}{'wall s':>8}{'cpu s':>8}{'cost/even':>11}{'workers':>9}"
    )
    for row in measure():
        print(
            f"{row.scheduler:<10}{row.tasks:>8,}{row.nodes:>7,}{row.pairs:>9,}{row.wall_s:>8.2f}{row.cpu_s:>8.2f}"
            f"{row.cost_over_even:>11.3f}{row.workers_used:>9,}"
        )
