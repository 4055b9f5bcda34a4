"""The automatic choice, against a world whose costs the test makes up."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from penstock.flow.measured_costs import Fit, MeasuredCosts
from penstock.flow.tree_choice import TreeChoice
from penstock.transport.broadcast import TREES, Layout
from penstock.transport.broadcast_cost import CostsBySize, Linear, bottleneck_us, latency_us
from tests.tries import tried

linear = st.builds(Linear, fixed_us=st.floats(1, 300), us_per_kb=st.floats(0, 20))
worlds = st.builds(CostsBySize, ring_latency=linear, ring_send=linear, link_latency=linear, link_send=linear)
layouts = st.builds(
    lambda sizes: Layout(0, tuple(tuple(range(sum(sizes[:n]), sum(sizes[: n + 1]))) for n in range(len(sizes)))),
    st.lists(st.integers(1, 5), min_size=1, max_size=8),
)


def settle(
    choice: TreeChoice, layout: Layout, world: CostsBySize, size_bytes: int, *, follow: bool, noise: float
) -> float:
    """Lets it choose for a while; returns how its last choice compares with the best."""
    noisy = random.Random(7)
    cost_of = bottleneck_us if follow else latency_us
    truth = {name: cost_of(layout, build(layout), world.of(size_bytes)) for name, build in TREES.items()}
    name = choice.lay_out(layout)
    for _ in range(60):
        name = choice.measured(size_bytes, truth[name] * noisy.uniform(1, 1 + noise), follow=follow)
    return truth[name] / max(1e-9, min(truth.values()))


def learned(world: CostsBySize) -> MeasuredCosts:
    costs = MeasuredCosts()
    for _ in range(200):
        for size in (100, 10_000, 100_000):
            for link in (False, True):
                costs.sent(size, world.of(size).send_us(link=link), link=link)
                costs.answered(size, 2 * world.of(size).latency_us(link=link), link=link)
    return costs


@tried(80)
@given(layout=layouts, world=worlds, size=st.sampled_from([100, 10_000, 1_000_000]), follow=st.booleans())
def test_it_finds_a_tree_that_is_nearly_the_best(
    layout: Layout, world: CostsBySize, size: int, *, follow: bool
) -> None:
    choice = TreeChoice(learned(world))
    if len(layout.nodes) == 1 and len(layout.nodes[0]) == 1:
        assert choice.lay_out(layout) in TREES
        return
    assert settle(choice, layout, world, size, follow=follow, noise=0.04) <= 1.1


def test_it_learns_each_size_by_itself_and_remembers() -> None:
    layout = Layout(0, ((0, 1, 2, 3), (4, 5, 6, 7), (8, 9, 10, 11), (12, 13, 14, 15)))
    choice = TreeChoice(MeasuredCosts())
    name = choice.lay_out(layout)
    best = {100: "binary", 100_000: "two_way_ring"}
    for size in (100, 100_000, 100, 100_000):
        for _ in range(60):
            name = choice.measured(size, 10.0 if name == best[size] else 20.0, follow=False)
        assert name == best[size]


def test_it_changes_its_mind_when_the_world_changes() -> None:
    layout = Layout(0, ((0, 1, 2), (3, 4, 5), (6, 7, 8)))
    choice = TreeChoice(MeasuredCosts())
    name = choice.lay_out(layout)
    for best in ("flat", "binary", "ring"):
        for _ in range(80):
            name = choice.measured(100, 10.0 if name == best else 30.0, follow=False)
        assert name == best


def test_it_seldom_tries_others_once_it_is_settled() -> None:
    layout = Layout(0, ((0, 1, 2), (3, 4, 5), (6, 7, 8)))
    choice = TreeChoice(MeasuredCosts())
    name = choice.lay_out(layout)
    used = []
    for _ in range(1000):
        name = choice.measured(100, 10.0 if name == "flat" else 11.5, follow=False)
        used.append(name)
    assert used[100:].count("flat") > 0.9 * len(used[100:])
    assert set(used[100:]) != {"flat"}, "now and then the second best has another trial"


def test_another_layout_begins_anew() -> None:
    choice = TreeChoice(MeasuredCosts())
    one, other = Layout(0, ((0, 1, 2), (3, 4))), Layout(0, ((0, 1, 2), (3, 4), (5, 6)))
    assert settle(choice, one, MeasuredCosts().costs, 100, follow=False, noise=0.0) <= 1.1
    assert settle(choice, other, MeasuredCosts().costs, 100, follow=False, noise=0.0) <= 1.1


@given(guess=linear, seen=st.lists(st.tuples(st.integers(0, 1 << 20), st.floats(-1e9, 1e9)), max_size=30))
def test_a_fit_is_never_negative(guess: Linear, seen: list[tuple[int, float]]) -> None:
    fit = Fit(guess)
    for size, us in seen:
        fit.observe(size, us)
    assert fit.line.fixed_us >= 0
    assert fit.line.us_per_kb >= 0
