"""What a broadcast costs: when each worker has it, and how many can follow each other in a second.

The model is the paper's ("Towards High Performance Processing of Streaming Data in Large Data Centers", section IV): to
send a message keeps the sender busy for a time, and another passes until the receiver has it; both are short over a
ring within a node and long over a link between nodes. A worker passes on at once what it has received, to one child
after another. `arrivals_us` lets two workers of a node send to other nodes at the same time, as the paper does; for a
stream, `bottleneck_us` does not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import msgspec

from penstock.transport.broadcast import Layout, Tree

__all__ = [
    "Costs",
    "CostsBySize",
    "Linear",
    "arrivals_us",
    "bottleneck_us",
    "busy_us",
    "latency_us",
    "link_us",
    "serial",
]

BYTES_PER_KB = 1024


class Costs(msgspec.Struct, frozen=True, kw_only=True):
    """What it takes to send one message of some size; the paper's l_s, m_s, l_t and m_t."""

    ring_latency_us: float
    """From the end of sending within a node until the receiver has the message."""
    ring_send_us: float
    """How long a sender is busy with one message within its node."""
    link_latency_us: float
    """The same between nodes."""
    link_send_us: float
    """The same between nodes."""

    def send_us(self, *, link: bool) -> float:
        """How long a sender is busy."""
        return self.link_send_us if link else self.ring_send_us

    def latency_us(self, *, link: bool) -> float:
        """How long the receiver still has to wait then."""
        return self.link_latency_us if link else self.ring_latency_us


class Linear(msgspec.Struct, frozen=True, kw_only=True):
    """A cost that grows with the size of a message."""

    fixed_us: float
    us_per_kb: float = 0.0

    def of(self, size_bytes: float) -> float:
        """The cost of a message of that size."""
        return self.fixed_us + self.us_per_kb * size_bytes / BYTES_PER_KB


class CostsBySize(msgspec.Struct, frozen=True, kw_only=True):
    """What it takes to send one message, of any size."""

    ring_latency: Linear
    ring_send: Linear
    link_latency: Linear
    link_send: Linear

    def of(self, size_bytes: float) -> Costs:
        """The costs of a message of that size."""
        return Costs(
            ring_latency_us=self.ring_latency.of(size_bytes),
            ring_send_us=self.ring_send.of(size_bytes),
            link_latency_us=self.link_latency.of(size_bytes),
            link_send_us=self.link_send.of(size_bytes),
        )


def serial(layout: Layout, tasks_of: Mapping[int, int]) -> Tree:
    """What is done without a tree, in the terms of one: the root sends to a worker once for each task there.

    Its own node comes first. Tasks on its own worker have the message from memory.
    """
    workers = (worker for node in layout.nodes for worker in node if worker != layout.root)
    sends = tuple(worker for worker in workers for _ in range(tasks_of[worker]))
    return {layout.root: sends} if sends else {}


def arrivals_us(layout: Layout, tree: Tree, costs: Costs) -> dict[int, float]:
    """When each worker has the message, from when the root begins to send; of several to one worker, the last."""
    node_of = _node_of(layout)
    arrivals = {layout.root: 0.0}
    reached = [layout.root]
    for worker in reached:
        now = arrivals[worker]
        for child in tree.get(worker, ()):
            link = node_of[child] != node_of[worker]
            now += costs.send_us(link=link)
            if child not in arrivals:
                reached.append(child)
            arrivals[child] = now + costs.latency_us(link=link)
    return arrivals


def latency_us(layout: Layout, tree: Tree, costs: Costs) -> float:
    """When the last worker has the message."""
    return max(arrivals_us(layout, tree, costs).values())


def busy_us(layout: Layout, tree: Tree, costs: Costs) -> float:
    """How long the busiest worker sends, per message."""
    node_of = _node_of(layout)
    return max(
        (
            sum(costs.send_us(link=node_of[child] != node_of[worker]) for child in children)
            for worker, children in tree.items()
        ),
        default=0.0,
    )


def link_us(layout: Layout, tree: Tree, costs: Costs) -> float:
    """How long the busiest node sends to others, per message: its workers have one way out, and take turns there."""
    node_of = _node_of(layout)
    sends = Counter(
        node_of[worker] for worker, children in tree.items() for child in children if node_of[child] != node_of[worker]
    )
    return max(sends.values(), default=0) * costs.link_send_us


def bottleneck_us(layout: Layout, tree: Tree, costs: Costs) -> float:
    """The least time from one message of a stream to the next: what the busiest worker or the busiest link takes."""
    return max(busy_us(layout, tree, costs), link_us(layout, tree, costs))


def _node_of(layout: Layout) -> dict[int, int]:
    return {worker: number for number, node in enumerate(layout.nodes) for worker in node}
