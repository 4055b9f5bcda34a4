"""The run: measure, judge, draw."""

import msgspec

from bench.broadcast.box import session_in_a_box
from bench.broadcast.charts import save_charts
from bench.broadcast.contest import contest
from bench.broadcast.goals import goals
from bench.broadcast.plan import ALGORITHMS, FULL, QUICK
from bench.broadcast.tables import tables
from bench.report import Outcome
from bench.settings import RunSettings


def run(settings: RunSettings) -> Outcome:
    """Measures on one cluster in a box."""
    plan = QUICK if settings.quick else FULL
    with session_in_a_box(plan, settings.progress) as spark:
        measured = contest(spark, plan, ALGORITHMS, settings.progress)
    return Outcome(
        figures={"plan": msgspec.to_builtins(plan), **msgspec.to_builtins(measured)},
        goals=goals(measured),
        tables=tables(measured, plan.rounds),
        plots=save_charts(settings.out, measured),
    )
