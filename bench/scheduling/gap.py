"""How far schedulers are from the optimum on small cases: `python -m bench.scheduling.gap`."""

import random
import statistics

import msgspec

from penstock.plan.cluster import WorkerSlot
from penstock.plan.edges import edges_of
from penstock.plan.load import Load, Traffic
from penstock.plan.problem import CostSettings, problem_of
from penstock.plan.schedulers.base import PlanRequest
from penstock.plan.schedulers.registry import scheduler
from penstock.plan.shape import ComponentShape, InputShape, TopologyShape
from penstock.plan.tasks import tasks_of

CONTENDERS = {
    "even": scheduler("even"),
    "t-storm": scheduler("t-storm"),
    "t-storm, all workers": scheduler("t-storm", one_worker_per_node=False),
    "t-storm, all workers, gamma 3": scheduler("t-storm", one_worker_per_node=False, gamma=3),
    "turbo": scheduler("turbo"),
    "penstock": scheduler("penstock"),
}


class Gap(msgspec.Struct, frozen=True, kw_only=True):
    """How much more than the optimum a scheduler's plans cost."""

    scheduler: str
    cases: int
    optimal: int
    """In how many it found the optimum."""
    overloaded: int
    """In how many it overloads something more than need be. These are not in the figures below."""
    median: float
    """What its plans cost less what the optimum costs, as a share of what `even` costs."""
    worst: float
    saved: float
    """Of what the optimum saves of the cost of `even`, how much the scheduler saves: 1 is all. Over all cases."""


def measure(cases: int = 60) -> tuple[Gap, ...]:
    """Compares on random chains of 4 to 16 tasks on 4 to 6 workers."""
    found: dict[str, list[tuple[float, float, float] | None]] = {name: [] for name in CONTENDERS}
    for seed in range(cases):
        request = small_request(random.Random(seed))
        problem = problem_of(request, CostSettings())
        plans = {name: problem.places(contender.plan(request)) for name, contender in CONTENDERS.items()}
        best = problem.places(scheduler("optimal").plan(request))
        even, least = problem.traffic_cost(plans["even"]), problem.traffic_cost(best)
        for name, places in plans.items():
            overloads_more = problem.overload(places) > problem.overload(best) + 1e-6
            found[name].append(None if overloads_more else (problem.traffic_cost(places), least, even))
    return tuple(_gap(name, results) for name, results in found.items())


def _gap(name: str, results: list[tuple[float, float, float] | None]) -> Gap:
    held = [result for result in results if result is not None]
    shares = [(cost - least) / even if even else 0.0 for cost, least, even in held]
    possible = sum(even - least for _, least, even in held)
    return Gap(
        scheduler=name,
        cases=len(results),
        optimal=sum(share < 1e-6 for share in shares),
        overloaded=len(results) - len(held),
        median=statistics.median(shares),
        worst=max(shares),
        saved=sum(even - cost for cost, _, even in held) / possible,
    )


def small_request(chance: random.Random) -> PlanRequest:
    """A chain of three to five components, loaded between a fifth and three quarters of what the workers can do."""
    count = chance.randint(3, 5)
    shape = TopologyShape(
        name="small",
        components=tuple(
            ComponentShape(
                name=f"c{number}",
                kind="bolt" if number else "spout",
                tasks=chance.randint(1, 4),
                inputs=(InputShape(source=f"c{number - 1}", stream="default", grouping="Shuffle"),) if number else (),
            )
            for number in range(count)
        ),
    )
    tasks = tasks_of(shape)
    sizes = {
        (source.id, target.id): chance.expovariate(0.001)
        for edge in edges_of(shape)
        for source in tasks
        for target in tasks
        if (source.component, target.component) == (edge.source, edge.target)
    }
    workers = chance.choice((4, 6))
    each = chance.uniform(0.2, 0.75) * 0.8 * workers / len(tasks)
    return PlanRequest(
        tasks=tasks,
        edges=edges_of(shape),
        slots=tuple(WorkerSlot(worker=worker, node="abc"[worker // 2]) for worker in range(workers)),
        load=Load(busy_share={task.id: min(0.8, chance.uniform(0.2, 1.8) * each) for task in tasks}),
        traffic=Traffic(tuples_per_s=sizes, bytes_per_s=sizes),
    )


if __name__ == "__main__":
    print(f"{'scheduler':<32}{'cases':>6}{'optimal':>9}{'overloaded':>12}{'median':>9}{'worst':>8}{'saved':>8}")
    for row in measure():
        print(
            f"{row.scheduler:<32}{row.cases:>6}{row.optimal:>9}{row.overloaded:>12}{row.median:>9.1%}{row.worst:>8.1%}"
            f"{row.saved:>8.1%}"
        )
