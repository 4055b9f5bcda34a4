"""The trees on clusters that no machine here has room for: what they cost by the paper's model, on 8 to 4,096 nodes."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from bench.ipc.plan import KB, MB
from penstock.transport.broadcast import TREES, Layout, Tree, layout_of
from penstock.transport.broadcast_cost import CostsBySize, Linear, bottleneck_us, latency_us, serial

NODES = tuple(8 << doubling for doubling in range(10))
SIZES_BYTES = (100, 10 * KB, 1 * MB)
WORKERS_PER_NODE = 4
TASKS_PER_WORKER = (1, 2)

# Plausible for 1 Gbit/s, and measured nowhere: a byte takes 8 ns on the wire, a system call and the framing 10 µs, two
# kernels, a switch and who has to wake up 50 µs. Within a node a message is copied at 7 GB/s, and who reads it wakes up
# within 5 µs.
COSTS = CostsBySize(
    ring_latency=Linear(fixed_us=5),
    ring_send=Linear(fixed_us=2, us_per_kb=0.15),
    link_latency=Linear(fixed_us=50),
    link_send=Linear(fixed_us=10, us_per_kb=8.192),
)


class Simulated(msgspec.Struct, frozen=True, kw_only=True):
    """What one algorithm costs on one cluster, for messages of one size."""

    size_bytes: int
    nodes: int
    algorithm: str
    latency_us: float
    """Until the last worker has a message."""
    per_s: float
    """Messages that can follow each other in a second."""


def simulate(nodes: Iterable[int] = NODES, sizes_bytes: Sequence[int] = SIZES_BYTES) -> tuple[Simulated, ...]:
    """Each algorithm on each number of nodes, for each size."""
    rows = []
    for count in nodes:
        layout = _layout(count)
        for algorithm, tree in _trees(layout):
            rows += [_simulated(layout, algorithm, tree, size) for size in sizes_bytes]
    return tuple(rows)


def _layout(nodes: int) -> Layout:
    node_of = {worker: f"{worker // WORKERS_PER_NODE:05}" for worker in range(nodes * WORKERS_PER_NODE)}
    return layout_of(0, node_of, node_of)


def _trees(layout: Layout) -> Iterator[tuple[str, Tree]]:
    for tasks in TASKS_PER_WORKER:
        name = "serial" if tasks == 1 else f"serial, {tasks} tasks per worker"
        yield name, serial(layout, {worker: tasks for node in layout.nodes for worker in node})
    for name, build in TREES.items():
        yield name, build(layout)


def _simulated(layout: Layout, algorithm: str, tree: Tree, size_bytes: int) -> Simulated:
    costs = COSTS.of(size_bytes)
    return Simulated(
        size_bytes=size_bytes,
        nodes=len(layout.nodes),
        algorithm=algorithm,
        latency_us=latency_us(layout, tree, costs),
        per_s=1e6 / bottleneck_us(layout, tree, costs),
    )
