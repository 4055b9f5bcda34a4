"""`turbo`: the paper's two algorithms by hand, and what it promises of balance."""

from collections import Counter

import msgspec
import pytest
from hypothesis import given

from penstock.plan.assignment import Assignment
from penstock.plan.cluster import WorkerSlot
from penstock.plan.consolidation import Group, consolidated, one_level
from penstock.plan.problem import CostSettings, problem_of
from penstock.plan.schedulers.base import PlanRequest
from penstock.plan.schedulers.registry import scheduler
from penstock.plan.schedulers.turbo import TurboScheduler
from penstock.plan.splitting import by_traffic, nodes_of_groups, split
from tests.plan.hand_made import cluster, component, measured, shaped
from tests.plan.strategies import requests
from tests.tries import tried


def groups(count: int, traffic: dict[tuple[int, int], float], pins: dict[int, int] | None = None) -> list[Group]:
    known: list[dict[int, float]] = [{} for _ in range(count)]
    for (one, other), rate in traffic.items():
        known[one][other] = known[other][one] = rate
    return [
        Group(tasks=(number,), weight=1.0, node=(pins or {}).get(number, -1), neighbours=known[number])
        for number in range(count)
    ]


# Six operators of one task each, as in the paper's figure 7.
SIX = {(0, 1): 5.0, (0, 2): 9.0, (1, 3): 7.0, (2, 4): 3.0, (3, 5): 6.0, (4, 5): 8.0}


def test_one_level_puts_each_with_the_free_neighbour_it_talks_to_most() -> None:
    parents = one_level(groups(6, SIX), most_weight=10.0)

    assert [parent.tasks for parent in parents] == [(0, 2), (1, 3), (4, 5)]
    # What is left between parents is the sum of what was between their tasks.
    assert [parent.neighbours for parent in parents] == [{1: 5.0, 2: 3.0}, {0: 5.0, 2: 6.0}, {1: 6.0, 0: 3.0}]


def test_who_finds_no_free_neighbour_stays_alone() -> None:
    star = {(0, 1): 1.0, (0, 2): 2.0, (0, 3): 3.0}

    assert [parent.tasks for parent in one_level(groups(4, star), 10.0)] == [(0, 3), (1,), (2,)]


def test_levels_follow_until_there_are_few_enough() -> None:
    chain = {(number, number + 1): 1.0 for number in range(7)}

    assert [group.tasks for group in consolidated(groups(8, chain), most_groups=2, most_weight=10.0)] == [
        (0, 1, 2, 3),
        (4, 5, 6, 7),
    ]


def test_what_is_too_heavy_or_pinned_apart_is_not_put_together() -> None:
    pair = {(0, 1): 1.0}

    assert len(consolidated(groups(2, pair), most_groups=1, most_weight=1.9)) == 2
    assert len(consolidated(groups(2, pair, pins={0: 0, 1: 1}), most_groups=1, most_weight=9.0)) == 2
    (joined,) = consolidated(groups(2, pair, pins={1: 1}), most_groups=1, most_weight=9.0)
    assert joined.node == 1


def test_parts_without_traffic_between_them_end_the_levels() -> None:
    assert len(consolidated(groups(4, {}), most_groups=1, most_weight=10.0)) == 4


CHAIN = {(0, 1): 1.0, (1, 2): 10.0, (2, 3): 1.0}


def test_of_all_starts_that_with_the_least_traffic_across_is_taken() -> None:
    # From 0: {0, 1}, which cuts 10. From 1: {1, 2}, because 2 is its closest neighbour, which cuts 2.
    assert split(groups(4, CHAIN), by_traffic(groups(4, CHAIN)), target=0.5, factor=0.1) == {1, 2}


def test_a_part_is_as_large_as_its_share_of_the_nodes() -> None:
    assert len(split(groups(4, CHAIN), by_traffic(groups(4, CHAIN)), target=0.75, factor=0.1)) == 3
    # No set has 0.6 of the weight: 0.5 is closer than 0.75.
    assert len(split(groups(4, CHAIN), by_traffic(groups(4, CHAIN)), target=0.6, factor=0.01)) == 2


def test_what_is_pinned_is_in_its_part() -> None:
    pinned = groups(4, CHAIN, pins={0: 7, 1: 8})

    # With 2 it cuts 1 + 10 + 1, with 3 only 1 + 1.
    assert split(pinned, by_traffic(pinned), 0.5, 0.1, first=[7], second=[8]) == {0, 3}


def test_nodes_with_more_cores_get_more() -> None:
    places = nodes_of_groups(groups(6, SIX), [0, 1], [4.0, 2.0], factor=0.1)

    assert Counter(places) == {0: 4, 1: 2}


def test_four_chains_go_to_four_nodes_offline() -> None:
    # By local_or_shuffle each spout has a bolt of its own, and no traffic is left between nodes.
    request = shaped(cluster(4, 2), component("s", 4), component("b", 4, ("s", "LocalOrShuffle")))

    assignment = TurboScheduler(online=False).plan(request)

    assert [assignment.worker_of[task] // 2 for task in range(4)] == [
        assignment.worker_of[task] // 2 for task in range(4, 8)
    ]
    assert len({assignment.worker_of[task] // 2 for task in range(4)}) == 4


def test_online_goes_by_what_was_measured_and_offline_does_not() -> None:
    request = measured(cluster(2, 1), {(0, 2): 9.0, (1, 3): 9.0, (0, 1): 1.0, (2, 3): 1.0})
    turned = measured(cluster(2, 1), {(0, 2): 1.0, (1, 3): 1.0, (0, 1): 9.0, (2, 3): 9.0})

    online = [TurboScheduler().plan(one).worker_of for one in (request, turned)]
    offline = [TurboScheduler(online=False).plan(one).worker_of for one in (request, turned)]

    assert online[0][0] == online[0][2] != online[0][1] == online[0][3]
    assert online[1][0] == online[1][1] != online[1][2] == online[1][3]
    assert offline[0] == offline[1]


def test_within_a_node_tasks_are_dealt_round_robin() -> None:
    request = measured(cluster(1, 3), SIX)

    assert TurboScheduler().plan(request).worker_of == {0: 0, 1: 1, 2: 2, 3: 0, 4: 1, 5: 2}


@tried(30)
@given(request=requests)
def test_workers_of_a_node_are_balanced_and_nodes_nearly_so(request: PlanRequest) -> None:
    assignment = TurboScheduler().plan(request)
    held = Counter(assignment.worker_of.values())
    nodes: dict[str, list[int]] = {}
    for slot in request.slots:
        nodes.setdefault(slot.node, []).append(held[slot.worker])

    for counts in nodes.values():
        assert max(counts) - min(counts) <= 1
    mean = len(request.tasks) / len(request.slots)
    for counts in nodes.values():
        # Each of at most two splits is off by less than a group, which weighs no more than the smallest node's share.
        smallest = min(map(len, nodes.values()))
        assert sum(counts) <= mean * len(counts) + 2 * max(1.0, mean * smallest) + 1


def test_a_pinned_task_takes_its_group_along() -> None:
    request = measured(cluster(2, 2), SIX)
    current = Assignment(number=1, worker_of=dict.fromkeys(range(6), 3))
    request = msgspec.structs.replace(request, current=current, pinned=frozenset({4}))

    planned = TurboScheduler(groups_per_node=1).plan(request).worker_of

    assert planned[4] == 3
    assert planned[5] in (2, 3)  # 4 and 5 are one group after the first level


@pytest.mark.parametrize("workers", [(4, 1, 1), (3, 3), (1,)])
def test_less_crosses_nodes_than_with_even(workers: tuple[int, ...]) -> None:
    slots = tuple(
        WorkerSlot(worker=10 * node + number, node=f"n{node}")
        for node, count in enumerate(workers)
        for number in range(count)
    )
    request = shaped(
        slots, component("s", 6), component("b", 6, ("s", "LocalOrShuffle")), component("c", 3, ("b", "By"))
    )
    problem = problem_of(request, CostSettings())
    costs = [problem.traffic_cost(problem.places(scheduler(name).plan(request))) for name in ("turbo", "even")]

    assert costs[0] <= costs[1]
