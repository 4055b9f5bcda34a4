"""All algorithms in one topology, run after run: each number of tasks with rings and with TCP, in each round."""

import json
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import penstock as ps
from bench.broadcast.conductor import Conductor
from bench.broadcast.measured import RINGS, TCP, Cell, LatencyRow, Measured, ThroughputRow
from bench.broadcast.placement import GathererWithSource
from bench.broadcast.plan import Plan
from bench.broadcast.topology import ANSWER_FILE, s_b_w_g
from bench.progress import Progress
from bench.rounds import interleaved
from bench.stats import Spread, percentile

_LOOK_EVERY_S = 1.0
_PATIENCE_S = 300.0
# What wakes the spout's worker are answers; to ask the spout in between would take time from the others.
_IDLE_SPOUT_WAIT_US = 20_000

Found = dict[str, list[int]]
"""The nanoseconds of all messages of a cell in one run, as the conductor notes them."""


def contest(spark: Any, plan: Plan, algorithms: Sequence[str], progress: Progress) -> Measured:
    """Measures everything of the plan."""
    ways = (RINGS, TCP)
    round_trips: dict[Cell, list[Found]] = defaultdict(list)
    floods: dict[Cell, list[Found]] = defaultdict(list)
    steps = interleaved(progress, "broadcast", ways, [f"{tasks} tasks" for tasks in plan.tasks], plan.rounds)
    for step, (way, tasks_text) in enumerate(steps):
        tasks = int(tasks_text.split()[0])
        turn = step // (len(ways) * len(plan.tasks))
        found = _run(spark, plan, algorithms, tasks=tasks, way=way, turn=turn)
        for (algorithm, size_bytes, alone), one in _by_cell(found).items():
            cell = Cell(tasks=tasks, size_bytes=size_bytes, way=way, algorithm=algorithm)
            (round_trips if alone else floods)[cell].append(one)
    return Measured(
        latency=[_latency(cell, round_trips[cell]) for cell in _in_order(round_trips, algorithms)],
        throughput=[_throughput(cell, floods[cell]) for cell in _in_order(floods, algorithms)],
    )


def _by_cell(blocks: list[dict[str, Any]]) -> dict[tuple[str, int, bool], Found]:
    """What one run has found, its passes put together, by algorithm, size and whether messages went one by one."""
    cells: dict[tuple[str, int, bool], Found] = {}
    for block in blocks:
        if block["round_trip_ns"]:  # else it was there to warm up
            cell = cells.setdefault((block["algorithm"], block["size_bytes"], block["window"] == 1), defaultdict(list))
            for name in ("round_trip_ns", "reached_ns", "gathered_ns"):
                cell[name] += block[name]
    return cells


def _in_order(cells: Iterable[Cell], algorithms: Sequence[str]) -> list[Cell]:
    """Algorithms as they were named: rounds begin with another one each."""
    return sorted(cells, key=lambda cell: (cell.tasks, cell.size_bytes, cell.way, algorithms.index(cell.algorithm)))


def _run(spark: Any, plan: Plan, algorithms: Sequence[str], *, tasks: int, way: str, turn: int) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        topology = s_b_w_g(Conductor(plan.blocks(algorithms, turn), tasks), algorithms, folder)
        with ps.start(
            topology,
            spark=spark,
            workers=plan.workers,
            scheduler=GathererWithSource(),
            delivery="at_most_once",
            share_memory=way == RINGS,
            credit_window_bytes=plan.credit_window_bytes,
            idle_spout_wait_us=_IDLE_SPOUT_WAIT_US,
        ) as run:
            _await_end(run, f"{tasks} tasks, {way}")
        answer: list[dict[str, Any]] = json.loads(Path(folder, ANSWER_FILE).read_text())
        return answer


def _await_end(run: ps.Run, what: str) -> None:
    """Waits for the end. An operator that fails leaves the spout waiting for answers for ever."""
    deadline_s = time.monotonic() + _PATIENCE_S
    while not run.wait(_LOOK_EVERY_S):
        for failure in run.metrics().failures:
            message = f"{what}: {failure.component} failed: {failure.message}"
            raise ps.RunError(message)
        if time.monotonic() > deadline_s:
            message = f"{what}: not all messages were gathered within {_PATIENCE_S:g} s"
            raise ps.RunError(message)


def _latency(cell: Cell, rounds: list[Found]) -> LatencyRow:
    return LatencyRow(
        cell=cell,
        p50_ms=Spread.over(statistics.median(found["round_trip_ns"]) / 1e6 for found in rounds),
        p90_ms=Spread.over(percentile(sorted(found["round_trip_ns"]), 0.9) / 1e6 for found in rounds),
        reached_ms=Spread.over(statistics.median(found["reached_ns"]) / 1e6 for found in rounds),
    )


def _throughput(cell: Cell, rounds: list[Found]) -> ThroughputRow:
    return ThroughputRow(
        cell=cell,
        messages_per_s=Spread.over(len(found["gathered_ns"]) / found["gathered_ns"][-1] * 1e9 for found in rounds),
    )
