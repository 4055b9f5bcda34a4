"""The run: measure, judge."""

from collections import defaultdict

import msgspec

from bench.recovery.goals import goals
from bench.recovery.latency import latency_ms
from bench.recovery.measured import Measured
from bench.recovery.outage import outage
from bench.recovery.soak import soak
from bench.recovery.tables import tables
from bench.recovery.word_count import GUARANTEES, words_per_s
from bench.report import Outcome
from bench.rounds import interleaved
from bench.settings import RunSettings
from penstock.spark.session import borrowed_session


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """All there is to measure."""

    rounds: int
    sentences: int
    paced_s: float
    soak_s: float


FULL = Plan(rounds=5, sentences=800_000, paced_s=8.0, soak_s=600.0)
QUICK = Plan(rounds=1, sentences=100_000, paced_s=3.0, soak_s=20.0)
_SEED = 7


def run(settings: RunSettings) -> Outcome:
    """Measures in one Spark session."""
    plan = QUICK if settings.quick else FULL
    measured = Measured(
        words_per_s=defaultdict(list), latencies_ms=defaultdict(list), outages=defaultdict(list), soaked=[]
    )
    tracked = GUARANTEES[1:]
    with borrowed_session(workers=3):
        for guarantee, _ in interleaved(settings.progress, "words/s", GUARANTEES, ["unthrottled"], plan.rounds):
            measured.words_per_s[guarantee].append(words_per_s(guarantee, plan.sentences))
        for guarantee, _ in interleaved(settings.progress, "latency", GUARANTEES, ["paced"], plan.rounds):
            measured.latencies_ms[guarantee].append(latency_ms(guarantee, plan.paced_s))
        for guarantee, _ in interleaved(settings.progress, "outage", tracked, ["SIGKILL"], plan.rounds):
            measured.outages[guarantee].append(outage(guarantee))
        for guarantee, _ in interleaved(settings.progress, "soak", tracked, [f"{plan.soak_s:g} s"], 1):
            measured.soaked.append(soak(guarantee, plan.soak_s, _SEED))
    return Outcome(
        figures=msgspec.to_builtins(measured),
        goals=goals(measured),
        rounds=plan.rounds,
        tables=tables(measured, plan.rounds),
    )
