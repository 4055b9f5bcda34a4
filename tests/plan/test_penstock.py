"""`penstock` is never worse than what it starts from, and `optimal` never worse than anybody."""

import random
import sys
from itertools import product

import msgspec
import numpy as np
import pytest
from hypothesis import given

from penstock.errors import PenstockError
from penstock.plan.assignment import Assignment
from penstock.plan.cluster import WorkerSlot
from penstock.plan.problem import CostSettings, Problem, problem_of
from penstock.plan.schedulers import optimal
from penstock.plan.schedulers.base import PlanRequest, checked_plan
from penstock.plan.schedulers.penstock import rank
from penstock.plan.schedulers.registry import scheduler
from tests.plan.hand_made import cluster, measured
from tests.plan.strategies import measured_requests
from tests.tries import tried


def cost(problem: Problem, assignment: Assignment) -> tuple[float, float]:
    """Overload first, then traffic; without what moving costs, and rounded, because sums are."""
    places = problem.places(assignment)
    return round(problem.overload(places), 8), round(problem.traffic_cost(places) * (1 - 1e-9), 6)


@tried(40)
@given(request=measured_requests(most_tasks=30))
def test_penstock_is_never_worse_than_even_or_what_there_is(request: PlanRequest) -> None:
    problem = problem_of(request, CostSettings())
    planned = cost(problem, checked_plan(scheduler("penstock"), request))

    assert planned <= cost(problem, scheduler("even").plan(request))
    if request.current is not None:
        assert planned <= cost(problem, request.current)


@tried(15)
@given(request=measured_requests(most_tasks=9, most_workers=4))
def test_optimal_is_never_worse_than_the_others(request: PlanRequest) -> None:
    problem = problem_of(request, CostSettings())
    best = checked_plan(scheduler("optimal"), request)

    def paid(assignment: Assignment) -> tuple[float, float]:
        overload, traffic = cost(problem, assignment)
        return overload, traffic + problem.moving_cost(problem.places(assignment))

    for name in ("even", "t-storm", "turbo", "penstock"):
        overload, traffic = paid(scheduler(name).plan(request))
        assert paid(best) <= (overload, traffic * (1 + 1e-6) + 1e-6), name
    assert scheduler("optimal").plan(request) == best


@pytest.mark.parametrize("seed", range(4))
def test_optimal_is_the_best_of_all_that_there_are(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)
    pairs = [(one, other) for one in range(5) for other in range(one + 1, 5)]
    request = measured(
        (*cluster(1, 2), WorkerSlot(worker=2, node="n1")),
        {pair: chance.expovariate(0.01) for pair in chance.sample(pairs, 7)},
        {task: chance.uniform(0.1, 0.5) for task in range(5)},
    )
    current = Assignment(number=1, worker_of={task: chance.randrange(3) for task in range(5)})
    request = msgspec.structs.replace(request, current=current, state_bytes={0: 10**6})
    problem = problem_of(request, CostSettings())
    # Without the help of what penstock finds.
    monkeypatch.setattr(optimal, "penstock_places", lambda problem: np.zeros(len(problem.tasks), dtype=np.int64))

    planned = rank(problem, problem.places(scheduler("optimal").plan(request)))

    best = min(rank(problem, np.array(places)) for places in product(range(3), repeat=5))
    assert planned[0] == pytest.approx(best[0], abs=1e-3)
    assert planned[1] == pytest.approx(best[1], rel=1e-3)


# Two triples that talk among themselves, with little between them.
TRIPLES = {(0, 1): 9.0, (1, 2): 9.0, (0, 2): 9.0, (3, 4): 9.0, (4, 5): 9.0, (3, 5): 9.0, (2, 3): 1.0}


@pytest.mark.parametrize("name", ["penstock", "optimal"])
def test_what_belongs_together_is_put_together_as_far_as_a_core_goes(name: str) -> None:
    heavy, light = (measured(cluster(2, 2), TRIPLES, dict.fromkeys(range(6), share)) for share in (0.26, 0.1))

    planned = scheduler(name).plan(heavy).worker_of

    assert planned[0] == planned[1] == planned[2] != planned[3] == planned[4] == planned[5]
    assert planned[0] // 2 == planned[3] // 2  # two workers of one node
    assert len(scheduler(name).plan(light).workers()) == 1


@pytest.mark.parametrize("name", ["penstock", "optimal"])
def test_what_is_too_much_for_all_is_spread_evenly(name: str) -> None:
    request = measured(cluster(2, 2), TRIPLES, dict.fromkeys(range(6), 1.0))

    held = [len(scheduler(name).plan(request).tasks_on(worker)) for worker in range(4)]

    assert sorted(held) == [1, 1, 2, 2]


def test_a_node_may_have_less_than_its_workers() -> None:
    request = measured(cluster(2, 2), TRIPLES, dict.fromkeys(range(6), 0.26))

    planned = scheduler("penstock").plan(msgspec.structs.replace(request, node_cores={"n0": 1.0, "n1": 1.0}))

    assert {worker // 2 for worker in planned.workers()} == {0, 1}


def test_nothing_moves_for_less_than_moving_costs() -> None:
    # Worker 0 has one triple and worker 2 the other; on one node they would save 9 of the 1 between them.
    request = measured(cluster(2, 2), TRIPLES, dict.fromkeys(range(6), 0.26))
    current = Assignment(number=1, worker_of={0: 0, 1: 0, 2: 0, 3: 2, 4: 2, 5: 2})
    request = msgspec.structs.replace(request, current=current)
    huge = dict.fromkeys(range(6), 10**9)

    for name in ("penstock", "optimal"):
        assert len(current.moved(scheduler(name).plan(request))) == 3
        assert scheduler(name).plan(msgspec.structs.replace(request, state_bytes=huge)).worker_of == current.worker_of


def test_what_even_does_better_is_never_kept_for_what_moving_costs() -> None:
    request = measured(cluster(2, 2), {(0, 2): 5.0, (1, 2): 0.001}, dict.fromkeys(range(3), 0.1))
    current = Assignment(number=1, worker_of={0: 0, 1: 2, 2: 2})
    request = msgspec.structs.replace(request, current=current, state_bytes=dict.fromkeys(range(3), 10**9))

    planned = scheduler("penstock").plan(request).worker_of

    # Even has the two on one node, for a tenth of what it costs now.
    assert planned[0] // 2 == planned[2] // 2


def test_swapping_helps_where_nothing_has_room() -> None:
    request = measured(cluster(2, 1), TRIPLES, dict.fromkeys(range(6), 0.26))
    current = Assignment(number=1, worker_of={0: 0, 1: 0, 2: 1, 3: 0, 4: 1, 5: 1})

    planned = scheduler("penstock").plan(msgspec.structs.replace(request, current=current)).worker_of

    assert planned == {0: 0, 1: 0, 2: 0, 3: 1, 4: 1, 5: 1}


def test_what_optimal_cannot_do_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    many = measured(cluster(10, 4), {(number, number + 1): 1.0 for number in range(30)})
    few = measured(cluster(2, 1), TRIPLES)

    with pytest.raises(PenstockError, match=r"tasks times workers wanted<=400 got=1240, .*got=30; use 'penstock'"):
        scheduler("optimal").plan(many)
    with pytest.raises(PenstockError, match=r"could not prove the least .* with effort=1e-09"):
        scheduler("optimal", effort=1e-9).plan(few)
    monkeypatch.setitem(sys.modules, "ortools.sat.python.cp_model", None)
    with pytest.raises(
        PenstockError, match=r"needs OR-tools, which is not installed: pip install 'penstock\[optimal\]'"
    ):
        scheduler("optimal").plan(few)
