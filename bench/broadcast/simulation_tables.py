"""What was simulated, as tables."""

from collections.abc import Callable, Sequence

from bench.broadcast.simulation import COSTS, WORKERS_PER_NODE, Simulated
from bench.ipc.plan import size_text
from bench.report import Table, format_figure
from penstock.transport.broadcast_cost import Linear


def simulation_tables(rows: Sequence[Simulated]) -> tuple[Table, ...]:
    """Latencies and rates, and who is best."""
    return (
        _table("Simulated: ms until the last worker has a message", rows, lambda row: row.latency_us / 1000, min),
        _table("Simulated: messages/s", rows, lambda row: row.per_s, max),
    )


def _table(
    title: str,
    rows: Sequence[Simulated],
    value_of: Callable[[Simulated], float],
    best: Callable[..., Simulated],
) -> Table:
    algorithms = tuple(dict.fromkeys(row.algorithm for row in rows))
    cells: dict[tuple[int, int], dict[str, Simulated]] = {}
    for row in sorted(rows, key=lambda row: (row.size_bytes, row.nodes)):
        cells.setdefault((row.size_bytes, row.nodes), {})[row.algorithm] = row
    return Table(
        title=title,
        columns=("size", "nodes", *algorithms, "best"),
        rows=tuple(
            (
                size_text(size),
                f"{nodes:,}",
                *(format_figure(value_of(found[algorithm])) for algorithm in algorithms),
                best(found.values(), key=value_of).algorithm,
            )
            for (size, nodes), found in cells.items()
        ),
        note=(
            f"{WORKERS_PER_NODE} workers per node. Within a node: sending {_text(COSTS.ring_send)}, then "
            f"{_text(COSTS.ring_latency)}; between nodes: {_text(COSTS.link_send)}, then {_text(COSTS.link_latency)}."
        ),
    )


def _text(cost: Linear) -> str:
    return f"{cost.fixed_us:g} µs" + (f" and {cost.us_per_kb:g} µs per KB" if cost.us_per_kb else "")
