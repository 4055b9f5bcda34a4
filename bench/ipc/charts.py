"""The measurements as the paper's figure 8: (a) against message size, (b) against rate, (c) against ring size."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from bench.ipc.contest import LatencyRow
from bench.ipc.plan import KB, size_text
from bench.plots import Axis, Series, save_line_chart

_LATENCY = Axis(label="mean latency, µs")

# The paper draws (a) at 100 messages/s; at 3,000 it is where its Netty breaks down.
_RATES_PER_S = (100, 3_000)
# The sizes whose dependence on the rate the paper gives in numbers.
_SIZES_BYTES = (10 * KB, 40 * KB)


def save_charts(
    out: Path, latency: Sequence[LatencyRow], ring_size: Mapping[int, Sequence[LatencyRow]]
) -> tuple[Path, ...]:
    """Save the charts for which there is something to show."""
    rates = sorted({row.rate_per_s for row in latency})
    sizes = sorted({row.size_bytes for row in latency})
    charts = [_against_size(out, latency, rate) for rate in _RATES_PER_S if rate in rates]
    charts += [_against_rate(out, latency, size) for size in _SIZES_BYTES if size in sizes]
    if any(ring_size.values()):
        charts.append(_against_ring_size(out, ring_size))
    return tuple(charts)


def _against_size(out: Path, rows: Sequence[LatencyRow], rate_per_s: int) -> Path:
    shown = [row for row in rows if row.rate_per_s == rate_per_s]
    return save_line_chart(
        out / f"latency-by-size-at-{rate_per_s}-per-s.png",
        title=f"Figure 8(a): one-way latency at {rate_per_s:,} messages/s",
        x=Axis(label="message size", ticks={row.size_bytes: size_text(row.size_bytes) for row in shown}),
        y=_LATENCY,
        lines=_lines((row.transport, row.size_bytes, row) for row in shown),
    )


def _against_rate(out: Path, rows: Sequence[LatencyRow], size_bytes: int) -> Path:
    shown = [row for row in rows if row.size_bytes == size_bytes]
    return save_line_chart(
        out / f"latency-by-rate-of-{size_bytes // KB}-kb.png",
        title=f"Figure 8(b): one-way latency of messages of {size_text(size_bytes)}",
        x=Axis(label="messages/s", ticks={row.rate_per_s: f"{row.rate_per_s:,}" for row in shown}),
        y=_LATENCY,
        lines=_lines((row.transport, row.rate_per_s, row) for row in shown),
    )


def _against_ring_size(out: Path, ring_size: Mapping[int, Sequence[LatencyRow]]) -> Path:
    shown = [(capacity, row) for capacity, rows in ring_size.items() for row in rows]
    _, first = shown[0]
    return save_line_chart(
        out / "latency-by-ring-size.png",
        title=f"Figure 8(c): one-way latency over the ring at {first.rate_per_s:,} messages/s",
        x=Axis(label="ring size", ticks={capacity: size_text(capacity) for capacity, _ in shown}),
        y=_LATENCY,
        lines=_lines((f"messages of {size_text(row.size_bytes)}", capacity, row) for capacity, row in shown),
    )


def _lines(points: Iterable[tuple[str, int, LatencyRow]]) -> dict[str, Series]:
    """Points by the name of their line, each line from left to right."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for name, x, row in points:
        lines.setdefault(name, []).append((x, row.mean_us.median))
    return {name: sorted(line) for name, line in lines.items()}
