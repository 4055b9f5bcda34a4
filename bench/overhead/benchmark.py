"""The run: measure, judge."""

import statistics

from bench.overhead.contest import Contest
from bench.overhead.goals import Roles, overhead_goals
from bench.overhead.handwritten import Handwritten
from bench.overhead.plan import FULL, QUICK
from bench.overhead.raw_rings import RawRings
from bench.overhead.tables import latency_table, left_out_table, throughput_table
from bench.overhead.topology import Topology
from bench.report import Goal, Outcome
from bench.settings import RunSettings
from penstock.spark.session import borrowed_session


def run(settings: RunSettings) -> Outcome:
    """Measure the chain as a topology beside the chain by hand, all in one Spark session."""
    plan = QUICK if settings.quick else FULL
    topology, per_message, rings = Topology(), Handwritten(1), RawRings()
    batched = [Handwritten(batch) for batch in plan.batches]
    batched_names = [chain.name for chain in batched]
    with borrowed_session(workers=topology.workers):
        contest = Contest([topology, per_message, *batched, rings], settings.progress)
        contenders = [topology.name, per_message.name]
        throughput = contest.throughput([*contenders, *batched_names], plan.flood_s, plan.rounds)
        latency = contest.latency([*contenders, rings.name], plan.paced(), plan.rounds)
    return Outcome(
        figures={
            "throughput": throughput,
            "latency": latency,
            "left_out": contest.left_out,
            "start_s": topology.start_s,
            "stop_s": topology.stop_s,
        },
        rounds=plan.rounds,
        cpu_us_per_record={row.chain: row.cpu_us_per_tuple.median for row in throughput}
        | {f"{row.chain}, {row.rate_per_s:,}/s": row.cpu_us_per_tuple.median for row in latency},
        goals=(
            *overhead_goals(
                Roles(ours=topology.name, per_message=per_message.name, batched=batched_names, rings=rings.name),
                throughput,
                latency,
            ),
            Goal(name="start_s", value=statistics.median(topology.start_s), comparison="<", limit=3.0),
            Goal(name="stop_s", value=statistics.median(topology.stop_s), comparison="<", limit=1.0),
        ),
        tables=(
            throughput_table(throughput, plan.rounds),
            latency_table(latency, plan.rounds),
            left_out_table(contest.left_out),
        ),
    )
