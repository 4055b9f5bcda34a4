"""What to measure, and on how large a cluster."""

from collections.abc import Iterator, Sequence

import msgspec

from bench.broadcast.conductor import Block
from bench.ipc.plan import KB, MB
from bench.rounds import rotated
from penstock.devcluster import DevClusterSettings

SERIAL = "serial"
AUTO = "auto"
ALGORITHMS = (SERIAL, "flat", "binary", "ring", "two_way_ring", AUTO)

# What `auto` needs of one kind of messages until it has tried all trees. It is measured when it has chosen, as it has
# most of the time. One by one, not every message that is fast is used to learn.
_LEARNS_FROM = 60
_LEARNS_FROM_SLOW = 30
_LEARNS_FROM_WINDOWS = 18

# A chain is a pipeline: it is full when every worker has some messages. What serial sends waits for the first link, and
# more of it under way would only take longer.
_BYTES_UNDER_WAY = 3200 * KB
_MOST_UNDER_WAY = 256
_OF_SERIAL = 1 / 8


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """All there is to measure."""

    nodes: int = 4
    workers_per_node: int = 4
    rate_bits_per_s: int = 100_000_000
    """Of each node's link, in each direction. At the paper's 1 Gb/s, two cores would be the scarce thing."""
    credit_window_bytes: int = 4 * MB
    """Of each task, and each broadcast. The default is a quarter, with which a ring was no faster than a tree."""
    rounds: int
    tasks: tuple[int, ...]
    latency_sizes_bytes: tuple[int, ...]
    throughput_sizes_bytes: tuple[int, ...]
    latency_s: float
    """How long the round trips of one cell take in one run, unless there are too few by then."""
    passes: int = 2
    """In how many parts, so that all algorithms get something of whatever else is going on."""
    throughput_s: float

    @property
    def workers(self) -> int:
        """Of the whole cluster."""
        return self.nodes * self.workers_per_node

    @property
    def cluster(self) -> DevClusterSettings:
        """All of its workers, each with a slot."""
        return DevClusterSettings(
            nodes=self.nodes, slots_per_node=self.workers_per_node, rate_bits_per_s=self.rate_bits_per_s
        )

    def blocks(self, algorithms: Sequence[str], turn: int) -> list[Block]:
        """All that one run goes through: of each size every algorithm, another one first in each round."""
        algorithms = rotated(algorithms, turn)
        return [
            *self._warm_up_blocks(algorithms),
            *self._latency_blocks(algorithms),
            *self._throughput_blocks(algorithms),
        ]

    def _warm_up_blocks(self, algorithms: Sequence[str]) -> Iterator[Block]:
        """The first messages of a run are slow, whoever sends them."""
        for size_bytes in (min(self.latency_sizes_bytes), 10 * KB):
            for algorithm in algorithms:
                yield Block(
                    algorithm=algorithm, size_bytes=size_bytes, window=1, warm_up=20, least=0, most=0, seconds=0.0
                )

    def _latency_blocks(self, algorithms: Sequence[str]) -> Iterator[Block]:
        for size_bytes in self.latency_sizes_bytes:
            slow = size_bytes >= 100 * KB
            for number in range(self.passes):
                for algorithm in algorithms:
                    learns = algorithm == AUTO and number == 0
                    learns_from = _LEARNS_FROM_SLOW if slow else _LEARNS_FROM
                    yield Block(
                        algorithm=algorithm,
                        size_bytes=size_bytes,
                        window=1,
                        warm_up=learns_from if learns else 1 if slow else 5,
                        least=1 if size_bytes >= MB else 3,  # by serial, seconds each
                        most=200,
                        seconds=self.latency_s / self.passes,
                    )

    def _throughput_blocks(self, algorithms: Sequence[str]) -> Iterator[Block]:
        for size_bytes in self.throughput_sizes_bytes:
            most = min(_MOST_UNDER_WAY, _BYTES_UNDER_WAY // size_bytes)
            for algorithm in algorithms:
                window = int(most * _OF_SERIAL) if algorithm == SERIAL else most
                yield Block(
                    algorithm=algorithm,
                    size_bytes=size_bytes,
                    window=window,
                    warm_up=window * (_LEARNS_FROM_WINDOWS if algorithm == AUTO else 1),
                    least=max(4, window // 2),
                    most=1_000_000,
                    seconds=self.throughput_s,
                )


FULL = Plan(
    rounds=3,
    tasks=(10, 30, 60),
    latency_sizes_bytes=(100, 1 * KB, 10 * KB, 100 * KB, 1 * MB),
    throughput_sizes_bytes=(1 * KB, 10 * KB, 100 * KB),
    latency_s=0.6,
    throughput_s=0.6,
)

QUICK = Plan(
    rounds=1,
    tasks=(10, 60),
    latency_sizes_bytes=(100, 100 * KB),
    throughput_sizes_bytes=(100 * KB,),
    latency_s=0.3,
    throughput_s=0.4,
)
