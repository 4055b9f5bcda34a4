"""What was simulated, as charts: one for the latencies of each size, one for the rates."""

from collections.abc import Callable, Sequence
from pathlib import Path

from bench.broadcast.simulation import Simulated
from bench.ipc.plan import size_text
from bench.plots import Axis, save_line_chart


def save_simulation_charts(out: Path, rows: Sequence[Simulated]) -> tuple[Path, ...]:
    """Save both charts of each size."""
    charts = []
    for size in sorted({row.size_bytes for row in rows}):
        of_size = [row for row in rows if row.size_bytes == size]
        name = f"{size_text(size).replace(' ', '-')}.png"
        charts += [
            _save(
                out / f"simulated-latency-{name}", "ms until all have it", of_size, lambda row: row.latency_us / 1000
            ),
            _save(out / f"simulated-rate-{name}", "messages/s", of_size, lambda row: row.per_s),
        ]
    return tuple(charts)


def _save(path: Path, unit: str, rows: Sequence[Simulated], value_of: Callable[[Simulated], float]) -> Path:
    lines: dict[str, list[tuple[float, float]]] = {}
    for row in sorted(rows, key=lambda row: row.nodes):
        lines.setdefault(row.algorithm, []).append((row.nodes, value_of(row)))
    return save_line_chart(
        path,
        title=f"Simulated: messages of {size_text(rows[0].size_bytes)}",
        x=Axis(label="nodes", ticks={row.nodes: f"{row.nodes:,}" for row in rows}),
        y=Axis(label=unit),
        lines=lines,
    )
