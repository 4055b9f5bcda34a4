"""`t-storm`: the paper's algorithm by hand, its three constraints, and the numbers of nodes that it reports."""

from collections import Counter
from math import floor

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.plan.assignment import Assignment
from penstock.plan.schedulers.base import PlanRequest
from penstock.plan.schedulers.t_storm import TStormScheduler
from penstock.plan.shape import ComponentShape
from tests.plan.hand_made import cluster, component, measured, shaped
from tests.plan.strategies import measured_requests
from tests.tries import tried

# By traffic: t0 has 14, t1 13, t2 12, t3 11.
SQUARE = {(0, 1): 10.0, (0, 2): 4.0, (1, 3): 3.0, (2, 3): 8.0}


def test_the_busiest_come_first_and_go_where_most_of_their_traffic_stays() -> None:
    # t0 to the first node; t1 to t0, for 10; now that is full (2 of 4 tasks at gamma 1), so t2 goes to the other; t3
    # would keep 3 with t1, which has no room, and keeps 8 with t2.
    assert TStormScheduler().plan(measured(cluster(2, 1), SQUARE)).worker_of == {0: 0, 1: 0, 2: 1, 3: 1}


def test_traffic_counts_in_both_directions() -> None:
    turned = {(target, source): rate for (source, target), rate in SQUARE.items()}

    assert TStormScheduler().plan(measured(cluster(2, 1), turned)).worker_of == {0: 0, 1: 0, 2: 1, 3: 1}


def test_a_higher_gamma_consolidates_as_far_as_there_is_capacity() -> None:
    light, heavy = dict.fromkeys(range(4), 0.1), dict.fromkeys(range(4), 0.4)

    assert TStormScheduler(gamma=2).plan(measured(cluster(2, 1), SQUARE, light)).workers() == (0,)
    assert TStormScheduler(gamma=2).plan(measured(cluster(2, 1), SQUARE, heavy)).workers() == (0, 1)


def test_capacity_is_a_fraction_that_can_be_set() -> None:
    heavy = measured(cluster(2, 1), SQUARE, dict.fromkeys(range(4), 0.2))

    assert TStormScheduler(gamma=2, capacity_fraction=0.8).plan(heavy).workers() == (0,)
    assert TStormScheduler(gamma=2, capacity_fraction=0.79).plan(heavy).workers() == (0, 1)


def test_a_node_has_one_worker_or_as_many_as_its_tasks_need() -> None:
    heavy = measured(cluster(1, 3), SQUARE, dict.fromkeys(range(4), 0.4))

    assert len(TStormScheduler().plan(heavy).workers()) == 1
    # Two of 0.4 fill a core to 0.8; who exchanges most is together.
    assert TStormScheduler(one_worker_per_node=False).plan(heavy).worker_of == {0: 0, 1: 0, 2: 1, 3: 1}


THROUGHPUT_TEST = (
    component("spout", 5),
    component("identity", 15, ("spout", "Shuffle")),
    component("counter", 15, ("identity", "Shuffle")),
)
WORD_COUNT = (
    component("reader", 2),
    component("split", 5, ("reader", "Shuffle")),
    component("count", 5, ("split", "By")),
    component("mongo", 5, ("count", "Shuffle")),
)


@pytest.mark.parametrize(
    ("components", "gamma", "nodes"),
    [
        # As the paper has it, with Storm's ackers as executors, and without.
        ((*THROUGHPUT_TEST, component("acker", 10, ("counter", "By"))), 1.0, 10),
        ((*THROUGHPUT_TEST, component("acker", 10, ("counter", "By"))), 1.7, 7),
        ((*THROUGHPUT_TEST, component("acker", 10, ("counter", "By"))), 6.0, 2),
        (THROUGHPUT_TEST, 1.0, 10),
        (THROUGHPUT_TEST, 1.7, 7),
        (THROUGHPUT_TEST, 6.0, 2),
        ((*WORD_COUNT, component("acker", 20, ("mongo", "By"))), 1.0, 10),
        ((*WORD_COUNT, component("acker", 20, ("mongo", "By"))), 1.8, 7),
        ((*WORD_COUNT, component("acker", 20, ("mongo", "By"))), 2.2, 5),
    ],
)
def test_as_many_nodes_are_used_as_the_paper_reports(
    components: tuple[ComponentShape, ...], gamma: float, nodes: int
) -> None:
    request = shaped(cluster(10, 4), *components)

    assignment = TStormScheduler(gamma=gamma).plan(request)

    assert len({worker // 4 for worker in assignment.workers()}) == nodes


def test_of_equal_nodes_those_are_taken_where_the_tasks_are() -> None:
    request = measured(cluster(2, 1), SQUARE)
    current = Assignment(number=1, worker_of={0: 1, 1: 1, 2: 0, 3: 0})

    planned = TStormScheduler().plan(msgspec.structs.replace(request, current=current))

    assert planned.worker_of == current.worker_of


@tried(50)
@given(request=measured_requests(), gamma=st.sampled_from((1.0, 1.3, 2.0, 50.0)))
def test_the_constraints_hold(request: PlanRequest, gamma: float) -> None:
    request = msgspec.structs.replace(request, pinned=frozenset())
    assignment = TStormScheduler(gamma=gamma).plan(request)
    node_of = {slot.worker: slot.node for slot in request.slots}
    nodes = sorted(set(node_of.values()))

    # (1) one worker per node
    assert len({node_of[worker] for worker in assignment.workers()}) == len(assignment.workers())
    # (2) no more than the capacity, unless there was a task for which no node had any left
    speed = {node: max(slot.speed for slot in request.slots if slot.node == node) for node in nodes}
    limit = {node: 0.8 * min(speed[node], request.node_cores.get(node, speed[node])) for node in nodes}
    if request.load is not None and gamma == 50.0:
        busy: Counter[str] = Counter()
        for task, worker in assignment.worker_of.items():
            busy[node_of[worker]] += request.load.busy_share[task]  # type: ignore[assignment]
        largest = max(request.load.busy_share.values())
        if any(busy[node] > limit[node] + 1e-6 for node in nodes):
            assert sum(busy.values()) > sum(limit.values()) - len(nodes) * largest
    # (3) no more than gamma times what a node of its size has on the mean, rounded, or one more
    held = Counter(node_of[worker] for worker in assignment.worker_of.values())
    for node in nodes:
        mean = len(request.tasks) * limit[node] / sum(limit.values())
        assert held[node] <= max(floor(gamma * mean + 1e-6), floor(gamma * mean) + 1 if gamma * mean < mean + 1 else 0)


def test_pinned_tasks_stay_where_a_constraint_would_not_have_them() -> None:
    request = measured(cluster(2, 2), SQUARE)
    current = Assignment(number=1, worker_of={0: 0, 1: 1, 2: 0, 3: 0})
    request = msgspec.structs.replace(request, current=current, pinned=frozenset({0, 1, 2}))

    assert TStormScheduler().plan(request).worker_of == {0: 0, 1: 1, 2: 0, 3: 2}
