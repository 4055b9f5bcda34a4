"""Goals and tables of the broadcast benchmark."""

from bench.broadcast.goals import goals
from bench.broadcast.measured import RINGS, TCP, Cell, LatencyRow, Measured, ThroughputRow
from bench.broadcast.tables import tables
from bench.ipc.plan import KB
from bench.stats import Spread


def latency(algorithm: str, way: str, size_bytes: int, ms: float) -> LatencyRow:
    spread = Spread.over([ms])
    cell = Cell(tasks=60, size_bytes=size_bytes, way=way, algorithm=algorithm)
    return LatencyRow(cell=cell, p50_ms=spread, p90_ms=spread, reached_ms=spread)


def rate(algorithm: str, messages_per_s: float) -> ThroughputRow:
    cell = Cell(tasks=60, size_bytes=100 * KB, way=RINGS, algorithm=algorithm)
    return ThroughputRow(cell=cell, messages_per_s=Spread.over([messages_per_s]))


MEASURED = Measured(
    latency=[
        latency(algorithm, way, size_bytes, ms)
        for algorithm, per_way in {
            "serial": {RINGS: (10.0, 90.0), TCP: (11.0, 95.0)},
            "binary": {RINGS: (2.0, 30.0), TCP: (2.0, 40.0)},
            "ring": {RINGS: (5.0, 20.0), TCP: (1.0, 16.0)},
            "auto": {RINGS: (3.0, 20.0), TCP: (1.0, 16.0)},
        }.items()
        for way, values in per_way.items()
        for size_bytes, ms in zip((100, 10 * KB), values, strict=True)
    ],
    throughput=[rate("serial", 1.0), rate("binary", 4.0), rate("ring", 6.0), rate("auto", 5.0)],
)


def test_goals_judge_the_worst_cell() -> None:
    found = {goal.name: (goal.value, goal.holds) for goal in goals(MEASURED)}
    assert found == {
        "best_round_trip_over_serial_at_60_tasks_and_the_smallest_message": (0.2, True),
        "rings_rate_over_the_best_other_at_the_largest_message": (1.5, True),
        "shared_memory_over_tcp_from_10_kb_worst_cell_of_serial": (90 / 95, True),
        "shared_memory_over_tcp_from_10_kb_worst_cell_of_binary": (0.75, True),
        "shared_memory_over_tcp_from_10_kb_worst_cell_of_ring": (1.25, False),
        "shared_memory_over_tcp_from_10_kb_worst_cell_of_auto": (1.25, False),
        "auto_round_trip_over_the_best_worst_cell": (1.5, False),
        "best_rate_over_auto_worst_cell": (1.2, False),
    }


def test_what_was_not_measured_does_not_hold() -> None:
    assert not any(goal.holds for goal in goals(Measured(latency=[], throughput=[])))


def test_tables_have_algorithms_across_and_what_shared_memory_saves() -> None:
    found = {table.title: table for table in tables(MEASURED, rounds=1)}
    assert found["Milliseconds of a round trip, 60 tasks"].columns[2:] == ("serial", "binary", "ring", "auto")
    assert found["How many times as fast as serial, 60 tasks"].rows[0] == ("100 B", RINGS, "5", "2", "3.33")
    assert found["Milliseconds that shared memory saves of a round trip by the ring"].rows == (
        ("100 B", "-4 of 1"),
        ("10 KB", "-4 of 16"),
    )
