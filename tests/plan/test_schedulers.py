"""Every scheduler keeps the promises of the interface; each has its own besides."""

from collections import Counter
from typing import ClassVar

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import RunError, SlotsError
from penstock.plan.assignment import Assignment
from penstock.plan.cluster import WorkerSlot, by_node, interleaved
from penstock.plan.schedulers.base import PlanRequest, checked_plan
from penstock.plan.schedulers.registry import SCHEDULERS, scheduler
from penstock.plan.tasks import Task
from tests.plan.strategies import requests, slots

every_scheduler = pytest.mark.parametrize("name", sorted(SCHEDULERS))


def tasks(count: int) -> tuple[Task, ...]:
    return tuple(Task(id=number, component="work", index=number, kind="bolt") for number in range(count))


def workers(*nodes: str) -> tuple[WorkerSlot, ...]:
    return tuple(WorkerSlot(worker=worker, node=node) for worker, node in enumerate(nodes))


@every_scheduler
@given(request=requests)
def test_every_task_is_placed_once_on_a_worker_that_exists(name: str, request: PlanRequest) -> None:
    assignment = checked_plan(scheduler(name), request)

    assert sorted(assignment.worker_of) == [task.id for task in request.tasks]
    assert set(assignment.worker_of.values()) <= {slot.worker for slot in request.slots}


@every_scheduler
@given(request=requests, chance=st.randoms())
def test_the_order_in_which_workers_came_does_not_matter(name: str, request: PlanRequest, chance: object) -> None:
    shuffled = list(request.slots)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]

    again = msgspec.structs.replace(request, slots=tuple(shuffled))

    assert scheduler(name).plan(again) == scheduler(name).plan(request)


@every_scheduler
@given(request=requests, number=st.integers(1, 1000))
def test_the_number_follows_the_current_one(name: str, request: PlanRequest, number: int) -> None:
    first = scheduler(name).plan(request)
    current = Assignment(number=number, worker_of=first.worker_of)

    assert first.number == 1
    assert scheduler(name).plan(msgspec.structs.replace(request, current=current)).number == number + 1


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


def test_an_unknown_scheduler_is_named_with_those_that_exist() -> None:
    with pytest.raises(ValueError, match=r"no scheduler is named 'evne'; there are: .*even"):
        scheduler("evne")


def test_an_unknown_parameter_is_named() -> None:
    with pytest.raises(ValueError, match=r"scheduler 'even' does not take .*gamma.*its parameters are: none"):
        scheduler("even", gamma=1.7)


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
        (1, {0: 0}, "leaves out tasks: 1"),
        (1, {0: 0, 1: 1, 2: 0}, "places tasks that do not exist: 2"),
        (1, {0: 0, 1: 9}, "uses workers that do not exist: 9"),
        (5, {0: 0, 1: 1}, "has number wanted=1 got=5"),
    ],
)
def test_a_wrong_assignment_is_refused(number: int, worker_of: dict[int, int], complaint: str) -> None:
    request = PlanRequest(tasks=tasks(2), edges=(), slots=workers("a", "b"))
    planner = Stubborn(Assignment(number=number, worker_of=worker_of))

    with pytest.raises(RunError, match=f"made by scheduler 'stubborn' {complaint}"):
        checked_plan(planner, request)
