"""The measurements as the paper's figures 8 (rings against TCP), 9 (gain against serial) and 10 (throughput)."""

from collections.abc import Callable, Mapping
from pathlib import Path

from bench.broadcast.measured import RINGS, TCP, Cell, Measured, other_algorithm
from bench.broadcast.plan import SERIAL
from bench.broadcast.tables import ring_savings_ms
from bench.ipc.plan import size_text
from bench.plots import Axis, save_line_chart


def save_charts(out: Path, measured: Measured) -> tuple[Path, ...]:
    """Save the charts for which there is something to show."""
    latencies, rates = measured.latencies_ms(), measured.rates_per_s()
    chained = {cell: value for cell, value in latencies.items() if (cell.algorithm, cell.way) == ("ring", TCP)}
    gains = {
        cell: latencies[other_algorithm(cell, SERIAL)] / value
        for cell, value in latencies.items()
        if cell.algorithm != SERIAL and cell.way == RINGS and other_algorithm(cell, SERIAL) in latencies
    }
    shared = {cell: rate for cell, rate in rates.items() if cell.way == RINGS}
    charts = [
        ("ring-over-tcp", "Figure 8(a): round trip by the ring, TCP within nodes", "ms", chained, _tasks),
        ("saved-by-memory", "Figure 8(b): TCP less shared memory", "ms", _positive(ring_savings_ms(latencies)), _tasks),
        *(
            (f"gain-{tasks}-tasks", f"Figure 9: serial's round trip over it, {tasks} tasks", "times", found, _algorithm)
            for tasks, found in _by_tasks(gains).items()
        ),
        *(
            (f"rate-{tasks}-tasks", f"Figure 10: throughput, {tasks} tasks", "messages/s", found, _algorithm)
            for tasks, found in _by_tasks(shared).items()
        ),
    ]
    return tuple(
        _save(out / f"{name}.png", title, unit, values, line_of)
        for name, title, unit, values, line_of in charts
        if values
    )


def _save(path: Path, title: str, unit: str, values: Mapping[Cell, float], line_of: Callable[[Cell], str]) -> Path:
    sizes_up = sorted(values, key=lambda cell: cell.size_bytes)
    lines: dict[str, list[tuple[float, float]]] = {}
    for cell in sizes_up:
        lines.setdefault(line_of(cell), []).append((cell.size_bytes, values[cell]))
    return save_line_chart(
        path,
        title=title,
        x=Axis(label="message size", ticks={cell.size_bytes: size_text(cell.size_bytes) for cell in sizes_up}),
        y=Axis(label=unit),
        lines=lines,
    )


def _tasks(cell: Cell) -> str:
    return f"{cell.tasks} tasks"


def _algorithm(cell: Cell) -> str:
    return cell.algorithm


def _positive(values: Mapping[Cell, float]) -> dict[Cell, float]:
    """What a logarithmic axis can show."""
    return {cell: value for cell, value in values.items() if value > 0}


def _by_tasks(values: Mapping[Cell, float]) -> dict[int, dict[Cell, float]]:
    return {
        tasks: {cell: value for cell, value in values.items() if cell.tasks == tasks}
        for tasks in sorted({cell.tasks for cell in values})
    }
