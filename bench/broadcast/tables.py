"""The measurements as tables: algorithms across, sizes and ways down."""

from collections.abc import Iterable, Mapping

from bench.broadcast.measured import RINGS, TCP, Cell, Measured, other_algorithm, other_way
from bench.broadcast.plan import SERIAL
from bench.ipc.plan import size_text
from bench.report import Table, format_figure
from bench.stats import Spread


def tables(measured: Measured, rounds: int) -> tuple[Table, ...]:
    """All of them."""
    spread = f"over {rounds} interleaved rounds: median (lowest–highest)"
    latencies = measured.latencies_ms()
    gains = {
        cell: latencies[other_algorithm(cell, SERIAL)] / value
        for cell, value in latencies.items()
        if other_algorithm(cell, SERIAL) in latencies and cell.algorithm != SERIAL
    }
    return (
        *_grids(
            "Milliseconds of a round trip",
            {row.cell: _spread(row.p50_ms) for row in measured.latency},
            f"From the spout until all answers are gathered, one message at a time; p50, {spread}.",
        ),
        *_grids(
            "How many times as fast as serial",
            {cell: format_figure(value) for cell, value in gains.items()},
            "Round trip of serial over that of the algorithm, as the paper's figure 9.",
        ),
        *_grids(
            "Milliseconds until the last task has the message",
            {row.cell: _spread(row.reached_ms) for row in measured.latency},
            f"The same messages without the way of the answers; p50, {spread}.",
        ),
        _chain(latencies),
        *_grids(
            "Messages per second",
            {row.cell: _spread(row.messages_per_s) for row in measured.throughput},
            f"With many under way, each to all tasks; {spread}.",
        ),
    )


def _grids(title: str, cells: Mapping[Cell, str], note: str) -> Iterable[Table]:
    """One table for each number of tasks."""
    for tasks in sorted({cell.tasks for cell in cells}):
        shown = {cell: text for cell, text in cells.items() if cell.tasks == tasks}
        algorithms = list(dict.fromkeys(cell.algorithm for cell in shown))
        lines = sorted({(cell.size_bytes, cell.way) for cell in shown}, key=lambda line: (line[0], line[1] != RINGS))
        yield Table(
            title=f"{title}, {tasks} tasks",
            columns=("message", "within nodes", *algorithms),
            rows=tuple(
                (
                    size_text(size_bytes),
                    way,
                    *(
                        shown.get(Cell(tasks=tasks, size_bytes=size_bytes, way=way, algorithm=algorithm), "-")
                        for algorithm in algorithms
                    ),
                )
                for size_bytes, way in lines
            ),
            note=note,
        )


def _chain(latencies: Mapping[Cell, float]) -> Table:
    """The paper's figure 8: what shared memory saves where a message goes through all workers, one after another."""
    saved = ring_savings_ms(latencies)
    tasks = sorted({cell.tasks for cell in saved})
    found = {
        (cell.size_bytes, cell.tasks): f"{format_figure(value)} of {format_figure(latencies[other_way(cell, TCP)])}"
        for cell, value in saved.items()
    }
    return Table(
        title="Milliseconds that shared memory saves of a round trip by the ring",
        columns=("message", *(f"{count} tasks" for count in tasks)),
        rows=tuple(
            (size_text(size_bytes), *(found.get((size_bytes, count), "-") for count in tasks))
            for size_bytes in sorted({cell.size_bytes for cell in saved})
        ),
        note="TCP within nodes less rings within nodes, and TCP, as the paper's figure 8.",
    )


def ring_savings_ms(latencies: Mapping[Cell, float]) -> dict[Cell, float]:
    """By what TCP within nodes takes longer than rings, of messages that go from worker to worker."""
    return {
        cell: latencies[other_way(cell, TCP)] - value
        for cell, value in latencies.items()
        if cell.algorithm == "ring" and cell.way == RINGS
    }


def _spread(spread: Spread) -> str:
    if spread.lowest == spread.highest:
        return format_figure(spread.median)
    return f"{format_figure(spread.median)} ({format_figure(spread.lowest)}–{format_figure(spread.highest)})"
