"""What a broadcast costs where all nodes have equally many workers, in closed form.

For n nodes of w workers, with l and m the latency and the sending of one message, over a ring (s) or a link (t):

    serial, k tasks per worker    k (w - 1) m_s + k (n - 1) w m_t + l_t
    flat                          (n - 1) m_t + l_t + (w - 1) m_s + l_s
    binary, at most               floor(log2 n) (l_t + m_t + l_s + m_s) + floor(log2 w) (l_s + 2 m_s)
    ring                          n (w - 1) (l_s + m_s) + (n - 1) (l_t + m_t)
    two-way ring, n even          n/2 ((w - 1) (l_s + m_s) + l_t + m_t)

These are what the paper has in section IV, mended:

- Serial is "at least m_s × n + l_t" there. What goes to other nodes goes over links, so it is m_t; and there is a send
  for each task, not for each node.
- Flat has n m_t, though the root does not send to its own node over a link.
- Binary leaves out the ring on the way to the second of two nodes, which another worker sends to than to the first.
- The second term of the ring has a factor n too many: a chain of n nodes has n - 1 links, each passed once.
- The two-way ring has half of the ring, so (n - 1)/2 links. That is right for odd n, where `two_way_ring_us` has what
  else is to pay; for even n the longer of the two ways has n/2.

A ring is taken to be no slower than a link. The tests hold each formula against what the built trees cost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from penstock.transport.broadcast_cost import Costs

__all__ = ["LATENCIES_US", "binary_at_most_us", "flat_us", "ring_us", "serial_us", "two_way_ring_us"]


def serial_us(costs: Costs, nodes: int, workers: int, tasks_per_worker: int) -> float:
    """When the last worker has what is sent to each task, the root's own node first."""
    if nodes * workers == 1:
        return 0.0
    near = tasks_per_worker * (workers - 1) * costs.ring_send_us
    far = tasks_per_worker * (nodes - 1) * workers * costs.link_send_us
    return near + far + costs.latency_us(link=nodes > 1)


def flat_us(costs: Costs, nodes: int, workers: int) -> float:
    """When the last worker has it over a flat tree."""
    across = (nodes - 1) * costs.link_send_us + costs.link_latency_us if nodes > 1 else 0.0
    inside = (workers - 1) * costs.ring_send_us + costs.ring_latency_us if workers > 1 else 0.0
    return across + inside


def ring_us(costs: Costs, nodes: int, workers: int) -> float:
    """When the last worker has it over a ring."""
    return nodes * (workers - 1) * _ring_hop_us(costs) + (nodes - 1) * _link_hop_us(costs)


def two_way_ring_us(costs: Costs, nodes: int, workers: int) -> float:
    """When the last worker has it over a two-way ring."""
    of_a_node = _link_hop_us(costs) + (workers - 1) * _ring_hop_us(costs)
    if nodes % 2 == 0:
        return nodes // 2 * of_a_node
    # Each way passes half of the root's own node first. Where it halves evenly, both ways are equally long, and the one
    # that the root sends to last ends last.
    mates = workers - 1
    waiting = 0.0 if mates % 2 or nodes * workers == 1 else costs.send_us(link=mates == 0)
    return (nodes - 1) // 2 * of_a_node + (mates + 1) // 2 * _ring_hop_us(costs) + waiting


def binary_at_most_us(costs: Costs, nodes: int, workers: int) -> float:
    """When the last worker has it over a binary tree that is full inside nodes and across; over any other, no later."""
    # Of two nodes below one, the second gets it from another worker than the first, if there is another.
    second = costs.link_send_us if workers == 1 else _ring_hop_us(costs)
    across = (nodes.bit_length() - 1) * (_link_hop_us(costs) + second)
    inside = (workers.bit_length() - 1) * (_ring_hop_us(costs) + costs.ring_send_us)
    return across + inside


def _ring_hop_us(costs: Costs) -> float:
    return costs.ring_send_us + costs.ring_latency_us


def _link_hop_us(costs: Costs) -> float:
    return costs.link_send_us + costs.link_latency_us


LATENCIES_US: Mapping[str, Callable[[Costs, int, int], float]] = {
    "flat": flat_us,
    "ring": ring_us,
    "two_way_ring": two_way_ring_us,
}
"""When the last worker has it, exactly, by the name of the tree."""
