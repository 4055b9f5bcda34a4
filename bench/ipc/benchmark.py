"""The run: measure, judge, draw."""

from bench.ipc.charts import save_charts
from bench.ipc.contest import Contest
from bench.ipc.fasterfifo import FasterFifo
from bench.ipc.goals import ipc_goals
from bench.ipc.iceoryx2 import Iceoryx2
from bench.ipc.netty import Netty
from bench.ipc.paper import paper_figures, paper_table
from bench.ipc.pipe import Pipe
from bench.ipc.plan import FULL, QUICK, size_text
from bench.ipc.queue import Queue
from bench.ipc.ring import Ring, RingBatched, RingCopied
from bench.ipc.tables import (
    latency_tables,
    left_out_table,
    ratio_table,
    ring_size_table,
    throughput_table,
)
from bench.ipc.transport import Transport
from bench.ipc.zeromq import ZeroMQ
from bench.report import Outcome
from bench.settings import RunSettings

TRANSPORTS: tuple[Transport, ...] = (
    Ring(),
    RingCopied(),
    RingBatched(),
    Netty(),
    ZeroMQ(),
    Pipe(),
    Queue(),
    FasterFifo(),
    Iceoryx2(),
)


def run(settings: RunSettings) -> Outcome:
    """Measure latency and throughput of every transport, then the latency of rings of different sizes."""
    plan = QUICK if settings.quick else FULL
    with Contest({transport.name: transport for transport in TRANSPORTS}, settings.progress) as contest:
        throughput = contest.throughput(plan.flood_sizes_bytes, plan.flood_s, plan.rounds)
        # One message at a time has no use for batches.
        latency = contest.latency(plan.cells(), plan.rounds, without=RingBatched.name)
        left_out = contest.left_out

    rings = {f"ring of {size_text(capacity)}": Ring(capacity) for capacity in plan.ring_capacities_bytes}
    with Contest(rings, settings.progress) as contest:
        by_ring = contest.latency(plan.ring_cells(), plan.rounds)
        left_out |= contest.left_out
    ring_size = {ring.capacity_bytes: [row for row in by_ring if row.transport == name] for name, ring in rings.items()}

    tables = (
        *latency_tables(latency, plan.rounds),
        ratio_table(latency),
        throughput_table(throughput, plan.rounds),
        ring_size_table(ring_size, plan.rounds),
        paper_table(latency, ring_size),
        left_out_table(left_out),
    )
    return Outcome(
        figures={
            "latency": latency,
            "throughput": throughput,
            "ring_size": {str(capacity): rows for capacity, rows in ring_size.items()},
            "left_out": left_out,
            "paper": paper_figures(),
        },
        goals=ipc_goals(latency, throughput),
        rounds=plan.rounds,
        tables=tables,
        plots=save_charts(settings.out, latency, ring_size),
    )
