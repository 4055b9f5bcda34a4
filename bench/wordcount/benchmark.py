"""The run: measure, judge."""

from pathlib import Path

from bench.report import Outcome
from bench.settings import RunSettings
from bench.wordcount.contest import Contest
from bench.wordcount.contestants import BATCHES, PEERS, RECORDS
from bench.wordcount.goals import wordcount_goals
from bench.wordcount.plan import FULL, QUICK
from bench.wordcount.tables import latency_tables, left_out_table, throughput_table

# Beside the results of all benchmarks: making them takes minutes and gigabytes.
_ENVIRONMENTS = Path("build/bench/envs")


def run(settings: RunSettings) -> Outcome:
    """Let Penstock and its peers count the same words."""
    plan = QUICK if settings.quick else FULL
    contest = Contest([RECORDS, BATCHES, *PEERS], plan, _ENVIRONMENTS.resolve(), settings.progress)
    throughput = contest.throughput()
    latency = contest.latency()
    return Outcome(
        figures={
            "throughput": throughput,
            "latency": latency,
            "left_out": contest.left_out,
            "versions": {peer.name: peer.environment.requirements for peer in PEERS if peer.environment},
        },
        goals=wordcount_goals(throughput, latency, PEERS),
        rounds=plan.rounds,
        cpu_us_per_record={row.contestant: row.cpu_us_per_word.median for row in throughput if row.cpu_us_per_word},
        tables=(
            throughput_table(throughput, plan.rounds),
            *latency_tables(latency, plan.rounds),
            left_out_table(contest.left_out),
        ),
    )
