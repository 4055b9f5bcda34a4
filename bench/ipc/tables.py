"""The measurements as tables."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from bench.ipc.contest import LatencyRow, ThroughputRow
from bench.ipc.goals import mean_ratios
from bench.ipc.plan import size_text
from bench.ipc.ring import Ring, RingCopied
from bench.report import Table, format_figure

Value = TypeVar("Value")


def latency_tables(rows: Sequence[LatencyRow], rounds: int) -> list[Table]:
    """One table per rate: transports down, sizes across."""
    note = (
        f"One way, in µs, median over {rounds} interleaved rounds: mean; lowest–highest mean of a round; p50/p99. "
        "Saturated: messages did not arrive at the rate at which they were due."
    )
    tables = []
    for rate in _distinct(row.rate_per_s for row in rows):
        cells = {(row.transport, row.size_bytes): row for row in rows if row.rate_per_s == rate}
        tables.append(
            _grid(f"Latency at {rate:,} messages/s", {key: _latency(row) for key, row in cells.items()}, note)
        )
    return tables


def ratio_table(rows: Sequence[LatencyRow]) -> Table:
    """The mean over each peer's, of the ring as it is used and of the ring that copies as its peers do."""
    ours = (Ring.name, RingCopied.name)
    peers = [name for name in _distinct(row.transport for row in rows) if name not in ours]
    return Table(
        title="Mean latency over that of a peer",
        columns=("peer", *(f"{name}: {cell} cell" for name in ours for cell in ("worst", "median"))),
        rows=tuple(
            (peer, *(text for name in ours for text in _ratios(mean_ratios(rows, name, peer)))) for peer in peers
        ),
    )


def throughput_table(rows: Sequence[ThroughputRow], rounds: int) -> Table:
    """Transports down, sizes across."""
    cells = {
        (row.transport, row.size_bytes): f"{format_figure(row.messages_per_s.median)}\n"
        f"{format_figure(row.messages_per_s.lowest)}–{format_figure(row.messages_per_s.highest)}"
        for row in rows
    }
    note = f"Messages/s, unthrottled, over {rounds} interleaved rounds: median; lowest–highest."
    return _grid("Throughput", cells, note)


def ring_size_table(ring_size: Mapping[int, Sequence[LatencyRow]], rounds: int) -> Table:
    """Capacities down, sizes across."""
    cells = {(row.transport, row.size_bytes): _latency(row) for rows in ring_size.values() for row in rows}
    note = f"As above, over {rounds} rounds."
    return _grid("Latency against ring size, at 3,000 messages/s", cells, note)


def left_out_table(left_out: Mapping[str, str]) -> Table:
    """Who was not measured, and why."""
    return Table(title="Not measured", columns=("transport", "reason"), rows=tuple(left_out.items()))


def _grid(title: str, cells: Mapping[tuple[str, int], str], note: str) -> Table:
    names = _distinct(name for name, _ in cells)
    sizes = sorted({size for _, size in cells})
    return Table(
        title=title,
        columns=("transport", *map(size_text, sizes)),
        rows=tuple((name, *(cells.get((name, size), "-") for size in sizes)) for name in names),
        note=note,
    )


def _latency(row: LatencyRow) -> str:
    if row.saturated:
        return "saturated"
    mean = row.mean_us
    return (
        f"{format_figure(mean.median)}\n"
        f"{format_figure(mean.lowest)}–{format_figure(mean.highest)}\n"
        f"{format_figure(row.p50_us.median)}/{format_figure(row.p99_us.median)}"
    )


def _ratios(cells: Mapping[tuple[int, int], float]) -> tuple[str, str]:
    """The worst cell and where it is, and the median."""
    if not cells:
        return "-", "-"
    size, rate = worst = max(cells, key=cells.__getitem__)
    return (
        f"{format_figure(cells[worst])} ({size_text(size)} at {rate:,}/s)",
        format_figure(statistics.median(cells.values())),
    )


def _distinct(values: Iterable[Value]) -> list[Value]:
    """Each value once, in the order in which it first came."""
    return list(dict.fromkeys(values))
