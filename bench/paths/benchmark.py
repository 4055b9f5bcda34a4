"""The run: warm up, measure."""

import tempfile
import time
from collections import defaultdict

import msgspec

import penstock as ps
from bench.paths.arrivals import noted, sent_between
from bench.paths.measured import Measured, Round
from bench.paths.paths import WAYS, WORKERS, Place, Way
from bench.paths.sender import sender
from bench.paths.tables import tables
from bench.report import Outcome
from bench.rounds import interleaved
from bench.settings import RunSettings
from penstock.spark.session import borrowed_session


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """All there is to measure."""

    ways: tuple[Way, ...]
    rounds: int
    warm_s: float
    """How long each way is in use before it is measured, each time."""
    measured_s: float


FULL = Plan(ways=WAYS, rounds=3, warm_s=1.5, measured_s=4.0)
QUICK = Plan(ways=tuple(way for way in WAYS if way.delivery != "at_least_once"), rounds=1, warm_s=1.0, measured_s=2.0)
_EVERY_S = 0.005
_LOOK_EVERY_S = 0.1
_PATIENCE_S = 60.0


def run(settings: RunSettings) -> Outcome:
    """Measures in one Spark session."""
    plan = QUICK if settings.quick else FULL
    measured = Measured(rounds=defaultdict(list))
    with borrowed_session(workers=WORKERS) as spark, sender(_EVERY_S) as port:
        if not settings.quick:  # what Java has not compiled yet is slow, and would fall on the first round alone
            for way, _ in interleaved(settings.progress, "warming up", QUICK.ways, ["once"], 1):
                _measure(way, spark, port, warm_s=0.0, measured_s=plan.warm_s)
        for way, _ in interleaved(settings.progress, "latency", plan.ways, [f"{plan.measured_s:g} s"], plan.rounds):
            one = _measure(way, spark, port, warm_s=plan.warm_s, measured_s=plan.measured_s)
            measured.rounds[str(way)].append(one)
    return Outcome(
        figures=msgspec.to_builtins(measured),
        goals=(),
        rounds=plan.rounds,
        tables=tables(measured, plan.ways, rounds=plan.rounds, every_s=_EVERY_S),
    )


def _measure(way: Way, spark: object, port: int, *, warm_s: float, measured_s: float) -> Round:
    with (
        tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder,
        way.open(Place(spark=spark, port=port, folder=folder)) as progress,
    ):
        deadline_s = time.monotonic() + _PATIENCE_S
        while not noted(folder):
            _pause(deadline_s, f"{way}: nothing arrives")
        begin_ns = time.time_ns() + int(warm_s * 1e9)
        end_ns = begin_ns + int(measured_s * 1e9)
        time.sleep(warm_s + measured_s)
        deadline_s = time.monotonic() + _PATIENCE_S
        while (lines := sent_between(noted(folder), begin_ns, end_ns)) is None:
            _pause(deadline_s, f"{way}: not all lines arrive")
        return Round.of(lines, progress())


def _pause(deadline_s: float, trouble: str) -> None:
    if time.monotonic() > deadline_s:
        raise ps.RunError(trouble)
    time.sleep(_LOOK_EVERY_S)
