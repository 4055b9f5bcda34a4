"""Which sizes and rates are measured, with how many messages, in how many rounds."""

import msgspec

from bench.ipc.pair import Paced

KB = 1024
MB = 1024 * KB


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """All there is to measure."""

    rounds: int
    sizes_bytes: tuple[int, ...]
    rates_per_s: tuple[int, ...]
    paced_s: float
    """How long a paced run lasts, but for rates at which so few messages would say little."""
    fewest_messages: int
    flood_sizes_bytes: tuple[int, ...]
    flood_s: float
    ring_capacities_bytes: tuple[int, ...]
    ring_sizes_bytes: tuple[int, ...]
    ring_rate_per_s: int

    def cells(self) -> list[Paced]:
        """Each size at each rate."""
        return [self.paced(size, rate) for size in self.sizes_bytes for rate in self.rates_per_s]

    def ring_cells(self) -> list[Paced]:
        """What is measured over rings of different capacities."""
        return [self.paced(size, self.ring_rate_per_s) for size in self.ring_sizes_bytes]

    def paced(self, size_bytes: int, rate_per_s: int) -> Paced:
        """One run, with a few more messages to warm up."""
        count = max(self.fewest_messages, int(rate_per_s * self.paced_s))
        return Paced(size_bytes=size_bytes, rate_per_s=rate_per_s, count=count, warm_up=max(5, count // 10))


FULL = Plan(
    rounds=5,
    sizes_bytes=(100, 1 * KB, 10 * KB, 40 * KB, 80 * KB, 160 * KB, 320 * KB),
    rates_per_s=(100, 1_000, 3_000, 10_000),
    paced_s=0.5,
    fewest_messages=100,
    flood_sizes_bytes=(100, 10 * KB, 320 * KB),
    flood_s=0.3,
    ring_capacities_bytes=tuple(64 * KB << doubling for doubling in range(9)),
    ring_sizes_bytes=(10 * KB, 40 * KB, 160 * KB),
    ring_rate_per_s=3_000,
)

QUICK = Plan(
    rounds=3,
    sizes_bytes=(10 * KB, 160 * KB),
    rates_per_s=(100, 3_000),
    paced_s=0.1,
    fewest_messages=25,
    flood_sizes_bytes=(100,),
    flood_s=0.1,
    ring_capacities_bytes=(256 * KB, 2 * MB, 16 * MB),
    ring_sizes_bytes=(40 * KB,),
    ring_rate_per_s=3_000,
)


def size_text(size_bytes: int) -> str:
    """`100 B`, `10 KB`, `16 MB`."""
    for unit, name in ((MB, "MB"), (KB, "KB")):
        if size_bytes >= unit:
            return f"{size_bytes / unit:g} {name}"
    return f"{size_bytes} B"
