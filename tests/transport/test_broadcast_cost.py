"""What trees cost, by hand and by formula."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.transport.broadcast import TREES, Layout, Tree, binary, flat
from penstock.transport.broadcast_cost import (
    Costs,
    CostsBySize,
    Linear,
    arrivals_us,
    bottleneck_us,
    busy_us,
    latency_us,
    link_us,
    serial,
)
from penstock.transport.broadcast_formulas import LATENCIES_US, binary_at_most_us, serial_us
from tests.transport.layouts import layouts, node_numbers, regular

# Each in a decimal place of its own, so that a sum tells what it is made of.
COSTS = Costs(ring_latency_us=1, ring_send_us=10, link_latency_us=100, link_send_us=1000)

# Whole numbers, so that sums are exact in whatever order they are made.
costs = st.builds(
    lambda ring, link: Costs(
        ring_latency_us=ring[0], ring_send_us=ring[1], link_latency_us=ring[0] + link[0], link_send_us=ring[1] + link[1]
    ),
    st.tuples(st.integers(0, 50), st.integers(0, 50)),
    st.tuples(st.integers(0, 500), st.integers(0, 500)),
)
counts = st.integers(1, 20)


def to_each_task(layout: Layout, tasks_per_worker: int) -> Tree:
    return serial(layout, {worker: tasks_per_worker for node in layout.nodes for worker in node})


# By hand


def test_arrivals_of_a_flat_tree() -> None:
    layout = regular(nodes=3, workers=2)
    assert flat(layout) == {0: (2, 4, 1), 2: (3,), 4: (5,)}
    assert arrivals_us(layout, flat(layout), COSTS) == {0: 0, 2: 1100, 4: 2100, 1: 2011, 3: 1111, 5: 2111}
    assert latency_us(layout, flat(layout), COSTS) == 2111
    assert busy_us(layout, flat(layout), COSTS) == 2010
    assert link_us(layout, flat(layout), COSTS) == 2000


def test_two_workers_of_a_node_share_its_link() -> None:
    layout = regular(nodes=3, workers=2)
    assert binary(layout) == {0: (1, 2), 1: (4,), 2: (3,), 4: (5,)}
    assert busy_us(layout, binary(layout), COSTS) == 1010
    assert link_us(layout, binary(layout), COSTS) == 2000
    assert bottleneck_us(layout, binary(layout), COSTS) == 2000


def test_serial_sends_to_a_worker_once_for_each_of_its_tasks() -> None:
    layout = regular(nodes=2, workers=2)
    sends = serial(layout, {0: 7, 1: 2, 2: 0, 3: 1})
    assert sends == {0: (1, 1, 3)}
    assert arrivals_us(layout, sends, COSTS) == {0: 0, 1: 21, 3: 1120}
    assert bottleneck_us(layout, sends, COSTS) == 1020


def test_nobody_but_the_root_costs_nothing() -> None:
    layout = regular(nodes=1, workers=1)
    for tree in (*(build(layout) for build in TREES.values()), to_each_task(layout, 3)):
        assert tree == {}
        assert latency_us(layout, tree, COSTS) == 0
        assert bottleneck_us(layout, tree, COSTS) == 0


def test_costs_grow_with_the_size_of_a_message() -> None:
    by_size = CostsBySize(
        ring_latency=Linear(fixed_us=1),
        ring_send=Linear(fixed_us=2, us_per_kb=0.5),
        link_latency=Linear(fixed_us=30),
        link_send=Linear(fixed_us=4, us_per_kb=8),
    )
    assert by_size.of(2048) == Costs(ring_latency_us=1, ring_send_us=3, link_latency_us=30, link_send_us=20)


# By formula


@given(st.sampled_from(sorted(LATENCIES_US)), costs, counts, counts)
def test_formulas_are_what_the_built_trees_cost(name: str, costs: Costs, nodes: int, workers: int) -> None:
    layout = regular(nodes, workers)
    assert latency_us(layout, TREES[name](layout), costs) == LATENCIES_US[name](costs, nodes, workers)


@given(costs, counts, counts, st.integers(1, 3))
def test_the_formula_of_serial_is_what_it_costs(costs: Costs, nodes: int, workers: int, tasks: int) -> None:
    layout = regular(nodes, workers)
    assert latency_us(layout, to_each_task(layout, tasks), costs) == serial_us(costs, nodes, workers, tasks)


@given(costs, st.integers(1, 70), counts)
def test_binary_costs_no_more_than_its_formula(costs: Costs, nodes: int, workers: int) -> None:
    layout = regular(nodes, workers)
    assert latency_us(layout, binary(layout), costs) <= binary_at_most_us(costs, nodes, workers)


@given(costs, st.sampled_from([1, 3, 7, 15, 31]), st.sampled_from([1, 3, 7, 15]))
def test_full_binary_trees_cost_what_their_formula_says(costs: Costs, nodes: int, workers: int) -> None:
    layout = regular(nodes, workers)
    assert latency_us(layout, binary(layout), costs) == binary_at_most_us(costs, nodes, workers)


@given(layouts, costs, st.sampled_from(sorted(TREES)))
def test_everybody_has_it_after_who_sent_it(layout: Layout, costs: Costs, name: str) -> None:
    tree = TREES[name](layout)
    arrivals = arrivals_us(layout, tree, costs)
    node_of = node_numbers(layout)

    assert arrivals.keys() == node_of.keys()
    for worker, children in tree.items():
        for child in children:
            link = node_of[worker] != node_of[child]
            assert arrivals[child] >= arrivals[worker] + costs.send_us(link=link) + costs.latency_us(link=link)


# In which order to send

# Of small, middle and large messages.
PLAUSIBLE = (
    Costs(ring_latency_us=5, ring_send_us=2, link_latency_us=60, link_send_us=10),
    Costs(ring_latency_us=5, ring_send_us=5, link_latency_us=60, link_send_us=90),
    Costs(ring_latency_us=5, ring_send_us=150, link_latency_us=60, link_send_us=8400),
)


def latency_in_the_best_order_us(layout: Layout, tree: Tree, costs: Costs) -> float:
    """The latency if each worker sends first to the child below which it takes longest, which no order can better."""
    node_of = node_numbers(layout)
    downwards = [layout.root]
    for worker in downwards:
        downwards.extend(tree.get(worker, ()))
    below = dict.fromkeys(downwards, 0.0)
    for worker in reversed(downwards):
        children = [(child, node_of[child] != node_of[worker]) for child in tree.get(worker, ())]
        waits = [(below[child] + costs.latency_us(link=link), costs.send_us(link=link)) for child, link in children]
        now = 0.0
        for wait, send in sorted(waits, reverse=True):
            now += send
            below[worker] = max(below[worker], now + wait)
    return below[layout.root]


@given(st.sampled_from(sorted(TREES)), st.sampled_from(PLAUSIBLE), counts, counts)
def test_no_order_of_sends_is_better_by_more_than_a_twentieth(
    name: str, costs: Costs, nodes: int, workers: int
) -> None:
    layout = regular(nodes, workers)
    tree = TREES[name](layout)
    assert latency_us(layout, tree, costs) <= 1.05 * latency_in_the_best_order_us(layout, tree, costs)


# Which is best


@pytest.mark.parametrize("nodes", [8, 64])
def test_trees_have_the_best_latency_and_rings_the_best_throughput(nodes: int) -> None:
    layout = regular(nodes, workers=4)
    trees = {name: build(layout) for name, build in TREES.items()} | {"serial": to_each_task(layout, 2)}
    latencies = {name: latency_us(layout, tree, COSTS) for name, tree in trees.items()}
    bottlenecks = {name: bottleneck_us(layout, tree, COSTS) for name, tree in trees.items()}

    assert min(latencies, key=latencies.__getitem__) == "binary"
    assert latencies["serial"] > 5 * latencies["binary"]
    assert min(bottlenecks, key=bottlenecks.__getitem__) == "ring"
    assert bottlenecks["two_way_ring"] == 2 * bottlenecks["ring"]
    assert latencies["two_way_ring"] < latencies["ring"]
