"""Every scheduler keeps the promises of the interface; each has its own besides."""

import random
from collections import Counter
from typing import Any, ClassVar

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import RunError, SlotsError
from penstock.plan.assignment import Assignment
from penstock.plan.cluster import WorkerSlot, by_node, interleaved
from penstock.plan.load import Load, Traffic
from penstock.plan.schedulers.base import PlanRequest, checked_plan
from penstock.plan.schedulers.registry import SCHEDULERS, scheduler
from penstock.plan.tasks import Task
from tests.plan.strategies import measured_requests, requests, slots
from tests.tries import tried

# `optimal` takes small ones only and has tests of its own, where the same is asked of it.
every_scheduler = pytest.mark.parametrize(
    ("name", "params"),
    [
        ("even", {}),
        ("t-storm", {"gamma": 1.7}),
        ("t-storm", {"one_worker_per_node": False}),
        ("turbo", {}),
        ("turbo", {"online": False}),
        ("penstock", {}),
    ],
    ids=str,
)


def tasks(count: int) -> tuple[Task, ...]:
    return tuple(Task(id=number, component="work", index=number, kind="bolt") for number in range(count))


def workers(*nodes: str) -> tuple[WorkerSlot, ...]:
    return tuple(WorkerSlot(worker=worker, node=node) for worker, node in enumerate(nodes))


def shuffled(request: PlanRequest, chance: random.Random) -> PlanRequest:
    """The same request, said in another order."""

    def mixed(known: dict[Any, Any]) -> dict[Any, Any]:
        items = list(known.items())
        chance.shuffle(items)
        return dict(items)

    def turned(known: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(chance.sample(known, len(known)))

    load, traffic, current = request.load, request.traffic, request.current
    return PlanRequest(
        tasks=turned(request.tasks),
        edges=turned(request.edges),
        slots=turned(request.slots),
        current=current and Assignment(number=current.number, worker_of=mixed(current.worker_of)),
        load=load and Load(busy_share=mixed(load.busy_share)),
        traffic=traffic and Traffic(tuples_per_s=mixed(traffic.tuples_per_s), bytes_per_s=mixed(traffic.bytes_per_s)),
        pinned=request.pinned,
        node_cores=mixed(request.node_cores),
        state_bytes=mixed(request.state_bytes),
    )


@every_scheduler
@tried(20)
@given(request=measured_requests(), seed=st.integers(0, 2**32))
def test_all_are_placed_once_pins_stay_and_order_does_not_matter(
    name: str, params: dict[str, Any], request: PlanRequest, seed: int
) -> None:
    assignment = checked_plan(scheduler(name, **params), request)

    assert sorted(assignment.worker_of) == [task.id for task in request.tasks]
    assert set(assignment.worker_of.values()) <= {slot.worker for slot in request.slots}
    for task, worker in request.fixed().items():
        assert assignment.worker_of[task] == worker
    assert scheduler(name, **params).plan(shuffled(request, random.Random(seed))) == assignment


@every_scheduler
def test_the_number_follows_the_current_one(name: str, params: dict[str, Any]) -> None:
    request = PlanRequest(tasks=tasks(5), edges=(), slots=workers("a", "b"))
    first = scheduler(name, **params).plan(request)
    current = Assignment(number=41, worker_of=first.worker_of)

    assert first.number == 1
    assert scheduler(name, **params).plan(msgspec.structs.replace(request, current=current)).number == 42


@given(requests)
def test_even_balances_workers_and_siblings_within_one(request: PlanRequest) -> None:
    assignment = scheduler("even").plan(request)
    siblings: dict[str, Counter[int]] = {}
    for task in request.tasks:
        siblings.setdefault(task.component, Counter())[assignment.worker_of[task.id]] += 1

    for counts in (Counter(assignment.worker_of.values()), *siblings.values()):
        per_worker = [counts[slot.worker] for slot in request.slots]
        assert max(per_worker) - min(per_worker) <= 1


def test_even_deals_over_nodes_before_it_comes_back_to_one() -> None:
    request = PlanRequest(tasks=tasks(5), edges=(), slots=workers("a", "a", "b", "b"))

    assert scheduler("even").plan(request).worker_of == {0: 0, 1: 2, 2: 1, 3: 3, 4: 0}


def test_even_deals_less_to_those_who_have_pinned_tasks() -> None:
    current = Assignment(number=1, worker_of=dict.fromkeys(range(6), 1))
    request = PlanRequest(
        tasks=tasks(6), edges=(), slots=workers("a", "b"), current=current, pinned=frozenset({0, 1, 2})
    )

    assert scheduler("even").plan(request).worker_of == {0: 1, 1: 1, 2: 1, 3: 0, 4: 0, 5: 0}


@given(slots())
def test_interleaving_takes_a_worker_of_every_node_in_each_round(cluster: tuple[WorkerSlot, ...]) -> None:
    order = interleaved(cluster)

    assert sorted(slot.worker for slot in order) == sorted(slot.worker for slot in cluster)
    for end in range(len(order)):
        taken = Counter(slot.node for slot in order[:end])
        for node, own in by_node(cluster).items():
            # No node is a round ahead of one that still has workers to give.
            assert taken[node] == len(own) or taken[node] >= max(taken.values(), default=0) - 1


def test_without_a_worker_there_is_nothing_to_plan() -> None:
    with pytest.raises(SlotsError, match="3 tasks cannot be placed: there is no worker"):
        PlanRequest(tasks=tasks(3), edges=(), slots=())


def test_workers_and_nodes_have_to_do_some_work() -> None:
    lazy = (WorkerSlot(worker=3, node="a", speed=0.0), WorkerSlot(worker=4, node="b"))

    with pytest.raises(RunError, match="worker 3 has speed=0, node 'b' has cores=-1"):
        PlanRequest(tasks=tasks(3), edges=(), slots=lazy, node_cores={"b": -1.0})


def test_an_unknown_scheduler_is_named_with_those_that_exist() -> None:
    with pytest.raises(
        ValueError, match=r"no scheduler is named 'evne'; there are: even, optimal, penstock, t-storm, t"
    ):
        scheduler("evne")


@pytest.mark.parametrize(
    ("name", "params", "complaint"),
    [
        ("even", {"gamma": 1.7}, r"scheduler 'even' does not take .*gamma.*its parameters are: none"),
        ("t-storm", {"gamma": 0.5}, r"'t-storm' does not take .*>= 1.* at `\$.gamma`; its parameters are: gamma"),
        ("nowhere.at_all:Mine", {}, r"module 'nowhere.at_all' cannot be imported: ModuleNotFoundError"),
        ("tests.plan.own_schedulers:Absent", {}, "has no such class: got nothing of that name"),
        ("tests.plan.own_schedulers:FIRST", {}, "has no such class: got int"),
        ("tests.plan.own_schedulers:Idle", {}, r"the class has no method plan\(request\)"),
        ("tests.plan.own_schedulers:Nameless", {}, "the class has no name"),
        ("tests.plan.own_schedulers:OnOne", {"wroker": 3}, "does not take .*wroker.*its parameters are: worker"),
        ("tests.plan.own_schedulers:Plain", {"wroker": 3}, "does not take .*wroker.*its parameters are: worker"),
    ],
)
def test_what_is_wrong_with_a_name_or_its_parameters_is_said(name: str, params: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        scheduler(name, **params)


@pytest.mark.parametrize("kind", ["OnOne", "Plain"])
def test_a_scheduler_of_ones_own_is_named_by_module_and_class(kind: str) -> None:
    request = PlanRequest(tasks=tasks(2), edges=(), slots=workers("a", "b"))

    own = scheduler(f"tests.plan.own_schedulers:{kind}", worker=1)

    assert checked_plan(own, request).worker_of == {0: 1, 1: 1}


def test_every_scheduler_is_found_by_its_own_name() -> None:
    assert {name: known.name for name, known in SCHEDULERS.items()} == {name: name for name in SCHEDULERS}


class Stubborn:
    """Always plans the same."""

    name: ClassVar[str] = "stubborn"

    def __init__(self, assignment: Assignment) -> None:
        self._assignment = assignment

    def plan(self, request: PlanRequest) -> Assignment:  # noqa: ARG002
        return self._assignment


@pytest.mark.parametrize(
    ("number", "worker_of", "complaint"),
    [
        (2, {0: 0}, "leaves out tasks: 1"),
        (2, {0: 0, 1: 1, 2: 0}, "places tasks that do not exist: 2"),
        (2, {0: 0, 1: 9}, "uses workers that do not exist: 9"),
        (5, {0: 0, 1: 1}, "has number wanted=2 got=5"),
        (2, {0: 1, 1: 1}, r"moves work\[0\], which is pinned, from worker 0 to 1"),
    ],
)
def test_a_wrong_assignment_is_refused(number: int, worker_of: dict[int, int], complaint: str) -> None:
    current = Assignment(number=1, worker_of={0: 0, 1: 7})
    # The worker of the second task is gone: it may move, pinned or not.
    request = PlanRequest(tasks=tasks(2), edges=(), slots=workers("a", "b"), current=current, pinned=frozenset({0, 1}))
    planner = Stubborn(Assignment(number=number, worker_of=worker_of))

    with pytest.raises(RunError, match=f"made by scheduler 'stubborn' {complaint}"):
        checked_plan(planner, request)
