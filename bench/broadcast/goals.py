"""What is wanted of broadcasts, judged on what was measured."""

from collections.abc import Mapping

from bench.broadcast.measured import RINGS, TCP, Cell, Measured, other_algorithm, other_way
from bench.broadcast.plan import SERIAL
from bench.ipc.plan import KB
from bench.report import Goal

AUTO = "auto"
RING_SHAPED = ("ring", "two_way_ring")
_TASKS = 60
_FROM_BYTES = 10 * KB


def goals(measured: Measured) -> tuple[Goal, ...]:
    """Each with what was measured."""
    latencies, rates = measured.latencies_ms(), measured.rates_per_s()
    algorithms = dict.fromkeys(cell.algorithm for cell in latencies)
    return (
        Goal(
            name=f"best_round_trip_over_serial_at_{_TASKS}_tasks_and_the_smallest_message",
            value=_best_over_serial(latencies),
            comparison="<=",
            limit=0.2,
        ),
        Goal(
            name="rings_rate_over_the_best_other_at_the_largest_message",
            value=_ring_shaped_over_others(rates),
            comparison=">=",
            limit=1.0,
        ),
        *(
            Goal(
                name=f"shared_memory_over_tcp_from_10_kb_worst_cell_of_{algorithm}",
                value=_worst_of(shared_memory_over_tcp(latencies, algorithm)),
                comparison="<",
                limit=1.0,
            )
            for algorithm in algorithms
        ),
        Goal(
            name="auto_round_trip_over_the_best_worst_cell",
            value=_worst_of({cell: value / best for cell, value, best in _auto_and_best(latencies, least=True)}),
            comparison="<=",
            limit=1.1,
        ),
        Goal(
            name="best_rate_over_auto_worst_cell",
            value=_worst_of({cell: best / value for cell, value, best in _auto_and_best(rates, least=False)}),
            comparison="<=",
            limit=1.1,
        ),
    )


def shared_memory_over_tcp(latencies: Mapping[Cell, float], algorithm: str) -> dict[Cell, float]:
    """Rings within nodes over TCP within nodes, at every size from 10 KB."""
    return {
        cell: value / latencies[other_way(cell, TCP)]
        for cell, value in latencies.items()
        if cell.algorithm == algorithm and cell.way == RINGS and cell.size_bytes >= _FROM_BYTES
    }


def _best_over_serial(latencies: Mapping[Cell, float]) -> float | None:
    there = [cell for cell in latencies if cell.tasks == _TASKS and cell.way == RINGS]
    smallest = min((cell.size_bytes for cell in there), default=0)
    found = {cell.algorithm: latencies[cell] for cell in there if cell.size_bytes == smallest}
    rivals = [value for algorithm, value in found.items() if algorithm not in (SERIAL, AUTO)]
    return min(rivals) / found[SERIAL] if rivals and SERIAL in found else None


def _ring_shaped_over_others(rates: Mapping[Cell, float]) -> float | None:
    """With the number of tasks at which it is least."""
    largest = max((cell.size_bytes for cell in rates), default=0)
    ratios = []
    for tasks in {cell.tasks for cell in rates}:
        found = {
            cell.algorithm: rate
            for cell, rate in rates.items()
            if (cell.tasks, cell.size_bytes, cell.way) == (tasks, largest, RINGS) and cell.algorithm != AUTO
        }
        ours = [rate for algorithm, rate in found.items() if algorithm in RING_SHAPED]
        others = [rate for algorithm, rate in found.items() if algorithm not in RING_SHAPED]
        if ours and others:
            ratios.append(max(ours) / max(others))
    return min(ratios, default=None)


def _auto_and_best(values: Mapping[Cell, float], *, least: bool) -> list[tuple[Cell, float, float]]:
    """Each cell of `auto`, with its value and that of the best fixed choice."""
    fixed = dict.fromkeys(cell.algorithm for cell in values if cell.algorithm != AUTO)
    best = min if least else max
    return [
        (cell, value, best(values[other_algorithm(cell, algorithm)] for algorithm in fixed))
        for cell, value in values.items()
        if cell.algorithm == AUTO and fixed
    ]


def _worst_of(ratios: Mapping[Cell, float]) -> float | None:
    return max(ratios.values(), default=None)
