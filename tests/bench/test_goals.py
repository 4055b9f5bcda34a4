import pytest

from bench.ipc.contest import LatencyRow, ThroughputRow
from bench.ipc.goals import ipc_goals, mean_ratios
from bench.ipc.paper import large_enough, paper_table
from bench.ipc.plan import FULL, KB, MB, QUICK, Plan, size_text
from bench.stats import Spread


def latency(transport: str, size_bytes: int, rate_per_s: int, mean_us: float, saturated: bool = False) -> LatencyRow:
    spread = Spread.over([mean_us])
    return LatencyRow(
        transport=transport,
        size_bytes=size_bytes,
        rate_per_s=rate_per_s,
        mean_us=spread,
        p50_us=spread,
        p99_us=spread,
        saturated=saturated,
    )


def throughput(transport: str, per_s: float, size_bytes: int = 100) -> ThroughputRow:
    return ThroughputRow(transport=transport, size_bytes=size_bytes, messages_per_s=Spread.over([per_s]))


def judged(rows: list[LatencyRow], floods: list[ThroughputRow]) -> dict[str, tuple[float | None, bool]]:
    return {goal.name: (goal.value, goal.holds) for goal in ipc_goals(rows, floods)}


def test_nothing_measured_and_nothing_holds() -> None:
    goals = judged([], [])
    assert len(goals) == 7
    assert set(goals.values()) == {(None, False)}


def test_netty_is_judged_by_the_worst_and_the_median_cell_of_the_paper() -> None:
    rows = [
        row
        for size, rate, ours in [(10, 100, 50.0), (40, 1_000, 20.0), (320, 3_000, 30.0)]
        for row in (latency("ring", size * KB, rate, ours), latency("Netty", size * KB, rate, 100.0))
    ]
    # Neither cells the paper does not have, nor cells that only one side has.
    rows += [latency("ring", 100, 100, 99.0), latency("Netty", 100, 100, 1.0)]
    rows += [latency("ring", 10 * KB, 10_000, 99.0), latency("Netty", 10 * KB, 10_000, 1.0)]
    rows += [latency("ring", 80 * KB, 100, 99.0)]
    goals = judged(rows, [])
    assert goals["latency_over_netty_worst_cell"] == (0.5, True)
    assert goals["latency_over_netty_median_cell"] == (0.3, True)


def test_the_others_are_judged_by_every_cell() -> None:
    rows = [latency("ring", 100, 10_000, 30.0), latency("ring", 10 * KB, 100, 30.0)]
    for peer in ("ZeroMQ ipc", "Pipe", "Queue"):
        rows += [latency(peer, 100, 10_000, 20.0 if peer == "Pipe" else 60.0), latency(peer, 10 * KB, 100, 300.0)]
    goals = judged(rows, [])
    assert goals["latency_over_zeromq_worst_cell"] == (0.5, True)
    assert goals["latency_over_pipe_worst_cell"] == (1.5, False)
    assert goals["latency_over_queue_worst_cell"] == (0.5, True)


def test_throughput_is_judged_by_batches_at_100_bytes() -> None:
    floods = [
        throughput("ring (write_many)", 2e6),
        throughput("ring (write_many)", 1.0, size_bytes=10 * KB),
        throughput("ZeroMQ ipc", 8e5),
        throughput("ring", 9e6),
    ]
    goals = judged([], floods)
    assert goals["write_many_messages_per_s_at_100_bytes"] == (2e6, True)
    assert goals["write_many_throughput_over_zeromq_at_100_bytes"] == (2.5, False)


def test_a_saturated_cell_counts() -> None:
    rows = [latency("ring", 100, 100, 10.0), latency("Pipe", 100, 100, 1000.0, saturated=True)]
    assert mean_ratios(rows, "ring", "Pipe") == {(100, 100): 0.01}


def test_a_ring_is_large_enough_when_none_is_clearly_better() -> None:
    by_capacity = {
        64 * KB: [latency("ring of 64 KB", 10 * KB, 3_000, 900.0)],
        256 * KB: [latency("ring of 256 KB", 10 * KB, 3_000, 110.0)],
        1 * MB: [latency("ring of 1 MB", 10 * KB, 3_000, 100.0)],
    }
    assert large_enough(by_capacity) == {10 * KB: 256 * KB}
    rows = paper_table([latency("Netty", 10 * KB, 3_000, 250.0)], by_capacity).rows
    assert rows[0] == ("Netty, mean at 10 KB and 3,000/s", "11.43 ms", "0.25 ms")
    assert rows[1][-1] == rows[2][-1] == "not measured"
    assert rows[3][1:] == ("50 to 100 messages", "25.6 messages (256 KB)")


@pytest.mark.parametrize("plan", [FULL, QUICK])
def test_every_plan_has_cells_for_every_goal(plan: Plan) -> None:
    rows = [
        latency(name, cell.size_bytes, cell.rate_per_s, 1.0)
        for cell in plan.cells()
        for name in ("ring", "Netty", "ZeroMQ ipc", "Pipe", "Queue")
    ]
    floods = [
        throughput(name, 1.0, size) for size in plan.flood_sizes_bytes for name in ("ring (write_many)", "ZeroMQ ipc")
    ]
    assert all(value is not None for value, _ in judged(rows, floods).values())
    assert all(cell.count >= 20 and cell.warm_up > 0 for cell in plan.cells() + plan.ring_cells())


@pytest.mark.parametrize(("size", "text"), [(100, "100 B"), (10 * KB, "10 KB"), (16 * MB, "16 MB"), (1536, "1.5 KB")])
def test_sizes_as_people_write_them(size: int, text: str) -> None:
    assert size_text(size) == text
