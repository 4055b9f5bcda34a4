"""The simulation of broadcasts shows the paper's shape, and people can read it."""

import pytest

from bench.broadcast.simulation import NODES, Simulated, simulate
from bench.broadcast.simulation_tables import simulation_tables
from bench.ipc.plan import KB, MB

ROWS = simulate(nodes=(8, 64))


def by_algorithm(nodes: int, size_bytes: int) -> dict[str, Simulated]:
    return {row.algorithm: row for row in ROWS if (row.nodes, row.size_bytes) == (nodes, size_bytes)}


def test_nodes_double_from_8_to_4096() -> None:
    assert NODES == (8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)


@pytest.mark.parametrize("size_bytes", [100, 10 * KB, 1 * MB])
@pytest.mark.parametrize("nodes", [8, 64])
def test_the_best_tree_is_far_better_than_serial_and_the_ring_has_the_best_rate(nodes: int, size_bytes: int) -> None:
    found = by_algorithm(nodes, size_bytes)
    latencies = {name: row.latency_us for name, row in found.items()}

    assert min(latencies.values()) * 4 < latencies["serial, 2 tasks per worker"]
    assert max(found.values(), key=lambda row: row.per_s).algorithm == "ring"
    assert found["serial, 2 tasks per worker"].per_s == pytest.approx(found["serial"].per_s / 2)


def test_a_table_has_a_row_for_each_cluster_and_size_and_names_the_best() -> None:
    latencies, rates = simulation_tables(ROWS)

    assert [row[:2] for row in latencies.rows] == [
        *(("100 B", "8"), ("100 B", "64")),
        *(("10 KB", "8"), ("10 KB", "64")),
        *(("1 MB", "8"), ("1 MB", "64")),
    ]
    assert [len(row) for row in (*latencies.rows, *rates.rows)] == [len(latencies.columns)] * 12
    assert {row[-1] for row in rates.rows} == {"ring"}
