"""Trees of broadcasts: everybody is reached once, nodes take in and send out no more than they may."""

import random
from collections import Counter
from collections.abc import Iterator
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.transport.broadcast import TREES, Layout, Tree, binary, flat, layout_of, ring, two_way_ring
from tests.transport.layouts import homes, layouts, node_numbers, regular

names = st.sampled_from(sorted(TREES))


def edges(tree: Tree) -> Iterator[tuple[int, int]]:
    return ((parent, child) for parent, children in tree.items() for child in children)


def links(layout: Layout, tree: Tree) -> list[tuple[int, int]]:
    """Between which nodes the tree sends, one entry for each stream."""
    node_of = node_numbers(layout)
    between = ((node_of[parent], node_of[child]) for parent, child in edges(tree))
    return [(source, target) for source, target in between if source != target]


def ways(tree: Tree, root: int) -> dict[int, tuple[int, ...]]:
    """The workers on the way from the root to each that it reaches, both ends included."""
    found: dict[int, tuple[int, ...]] = {root: (root,)}
    for worker in (reached := [root]):
        for child in tree.get(worker, ()):
            found[child] = (*found[worker], child)
            reached.append(child)
    return found


# Layouts


@given(homes(), st.randoms(use_true_random=False), st.data())
def test_a_layout_has_each_worker_once_and_does_not_depend_on_the_order_of_members(
    node_of: dict[int, str], chance: random.Random, data: st.DataObject
) -> None:
    members = data.draw(st.lists(st.sampled_from(sorted(node_of)), min_size=1))
    root = members[0]
    shuffled = members[1:]
    chance.shuffle(shuffled)

    layout = layout_of(root, members, node_of)

    assert layout == layout_of(root, shuffled, dict(reversed(node_of.items())))
    assert sorted(chain.from_iterable(layout.nodes)) == sorted(set(members))
    assert layout.nodes[0][0] == layout.root == root
    assert [len({node_of[worker] for worker in node}) for node in layout.nodes] == [1] * len(layout.nodes)
    assert len({node_of[node[0]] for node in layout.nodes}) == len(layout.nodes)


def test_the_workers_of_a_node_stand_in_the_order_of_their_numbers() -> None:
    # A set would give these in the order in which they were put in.
    workers = [1024, 512, 256, 0]
    assert layout_of(0, workers, dict.fromkeys(workers, "a")).nodes == ((0, 256, 512, 1024),)


def test_a_worker_without_a_node_is_named() -> None:
    with pytest.raises(ValueError, match=r"from worker 1: wanted the node of each worker, got none for \[1, 3\]"):
        layout_of(1, [2, 3], {2: "a"})


def test_large_nodes_come_first_and_equal_ones_from_the_name_of_the_roots_node_on() -> None:
    node_of = {0: "a", 1: "b", 2: "c", 3: "d", 4: "e", 5: "e"}
    assert layout_of(2, node_of, node_of).nodes == ((2,), (4, 5), (3,), (0,), (1,))


def test_each_root_of_a_node_has_another_head_on_the_next() -> None:
    node_of = {worker: "ab"[worker // 3] for worker in range(6)}
    assert [layout_of(root, node_of, node_of).nodes[1][0] for root in range(3)] == [3, 4, 5]


# Every tree


@given(layouts, names)
def test_every_member_is_reached_exactly_once_and_nobody_else(layout: Layout, name: str) -> None:
    tree = TREES[name](layout)
    members = set(chain.from_iterable(layout.nodes))

    children = [child for _, child in edges(tree)]

    assert sorted(children) == sorted(members - {layout.root})
    assert ways(tree, layout.root).keys() == members
    assert all(tree.values()), "leaves are left out"


@given(layouts, names)
def test_a_node_takes_in_one_stream_and_sends_out_as_many_as_it_may(layout: Layout, name: str) -> None:
    streams = links(layout, TREES[name](layout))
    sent = Counter(source for source, _ in streams)
    most_of_home = {"flat": len(layout.nodes), "binary": 2, "ring": 1, "two_way_ring": 2}[name]

    assert sorted(target for _, target in streams) == list(range(1, len(layout.nodes)))
    assert sent.pop(0, 0) <= most_of_home
    assert max(sent.values(), default=0) <= {"flat": 0, "binary": 2}.get(name, 1)


@given(layouts, names)
def test_a_node_is_entered_at_its_head_and_all_inside_are_reached_from_there(layout: Layout, name: str) -> None:
    found = ways(TREES[name](layout), layout.root)
    for node in layout.nodes:
        for worker in node:
            assert found[worker][: len(found[node[0]])] == found[node[0]]


@pytest.mark.parametrize("name", sorted(TREES))
def test_nobody_but_the_root_needs_no_tree(name: str) -> None:
    assert TREES[name](layout_of(3, [], {3: "a"})) == {}
    assert TREES[name](layout_of(3, [4], {3: "a", 4: "b"})) == {3: (4,)}


# Their shapes


@given(layouts)
def test_flat_has_one_level_of_nodes_and_one_of_workers(layout: Layout) -> None:
    found = ways(flat(layout), layout.root)
    assert {len(found[worker]) for worker in layout.nodes[0][1:]} <= {2}
    assert {len(found[node[0]]) for node in layout.nodes[1:]} <= {2}
    assert {len(found[worker]) for node in layout.nodes[1:] for worker in node[1:]} <= {3}


@given(layouts)
def test_binary_gives_nobody_more_than_two_children(layout: Layout) -> None:
    assert max(map(len, binary(layout).values()), default=0) <= 2


@given(layouts)
def test_binary_is_as_deep_as_the_logarithm_of_nodes_and_of_workers(layout: Layout) -> None:
    node_of = node_numbers(layout)
    for worker, way in ways(binary(layout), layout.root).items():
        crossed = [node_of[one] for one in way]
        assert len(set(crossed)) - 1 <= len(layout.nodes).bit_length() - 1
        inside = crossed.count(node_of[worker]) - 1
        # Two workers of a node may have a child in another, and push what is inside down by one each.
        assert inside <= len(layout.nodes[node_of[worker]]).bit_length() - 1 + 2


@given(layouts)
def test_ring_gives_everybody_one_child(layout: Layout) -> None:
    assert all(len(children) == 1 for children in ring(layout).values())


@given(layouts)
def test_two_way_ring_is_two_chains_as_even_as_whole_nodes_allow(layout: Layout) -> None:
    tree = two_way_ring(layout)
    found = ways(tree, layout.root)
    node_of = node_numbers(layout)
    ends = [way for worker, way in found.items() if worker not in tree]
    nodes = [len({node_of[worker] for worker in way} - {0}) for way in ends] + [0] * (2 - len(ends))
    workers = [len(way) - 1 for way in ends] + [0] * (2 - len(ends))
    mates, *others = (len(node) for node in layout.nodes)

    assert len(tree.get(layout.root, ())) <= 2
    assert all(len(children) == 1 for worker, children in tree.items() if worker != layout.root)
    assert abs(nodes[0] - nodes[1]) <= 1
    assert abs(workers[0] - workers[1]) <= max(1, max(others, default=0) - (mates - 1))


# Worked examples: the paper's figure 4


def test_two_machines_of_four_workers() -> None:
    layout = regular(nodes=2, workers=4)
    assert layout.nodes == ((0, 1, 2, 3), (4, 5, 6, 7))
    assert flat(layout) == {0: (4, 1, 2, 3), 4: (5, 6, 7)}
    assert binary(layout) == {0: (4, 1), 1: (2, 3), 4: (5, 6), 5: (7,)}
    assert ring(layout) == {worker: (worker + 1,) for worker in range(7)}
    assert two_way_ring(layout) == {0: (4, 1), 4: (5,), 5: (6,), 6: (7,), 1: (2,), 2: (3,)}


def test_four_machines_of_four_workers() -> None:
    layout = regular(nodes=4, workers=4)
    assert flat(layout) == {0: (4, 8, 12, 1, 2, 3), 4: (5, 6, 7), 8: (9, 10, 11), 12: (13, 14, 15)}
    assert binary(layout) == (
        {0: (4, 1), 1: (8, 2), 2: (3,)} | {4: (12, 5), 5: (6, 7)} | {8: (9, 10), 9: (11,)} | {12: (13, 14), 13: (15,)}
    )
    assert ring(layout) == {worker: (worker + 1,) for worker in range(15)}
    assert two_way_ring(layout) == (
        {0: (4, 1)}
        | {4: (5,), 5: (6,), 6: (7,), 7: (12,), 12: (13,), 13: (14,), 14: (15,)}
        | {1: (2,), 2: (3,), 3: (8,), 8: (9,), 9: (10,), 10: (11,)}
    )


def test_three_machines_share_the_roots_between_the_two_ways() -> None:
    tree = two_way_ring(regular(nodes=3, workers=4))
    assert tree[0] == (1, 3)
    assert (tree[2], tree[3]) == ((4,), (8,))


def test_two_way_ring_sends_first_to_whom_there_is_a_link_ahead_of() -> None:
    tree = two_way_ring(layout_of(0, range(5), dict(enumerate("aabbc"))))
    assert tree == {0: (1, 2), 1: (4,), 2: (3,)}


def test_binary_sends_first_where_the_way_is_longest() -> None:
    # Two nodes are one link below the root's: who has to pass it on to the second of them is sent to before the first.
    assert binary(regular(nodes=3, workers=4))[0] == (1, 4)
    # A third is two links below: its way leads through the first.
    assert binary(regular(nodes=4, workers=4))[0] == (4, 1)
    # Nobody else on the root's node.
    assert binary(regular(nodes=3, workers=1))[0] == (1, 2)


def test_uneven_nodes() -> None:
    layout = layout_of(0, range(9), {0: "a", 1: "b", **dict.fromkeys(range(2, 9), "c")})
    assert layout.nodes == ((0,), (2, 3, 4, 5, 6, 7, 8), (1,))
    assert flat(layout) == {0: (2, 1), 2: (3, 4, 5, 6, 7, 8)}
    assert binary(layout) == {0: (2, 1), 2: (3, 4), 3: (5, 6), 4: (7, 8)}
    assert two_way_ring(layout) == {0: (2, 1), 2: (3,), 3: (4,), 4: (5,), 5: (6,), 6: (7,), 7: (8,)}
