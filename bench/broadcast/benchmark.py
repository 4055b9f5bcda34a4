"""The run: measure, judge, draw."""

import msgspec

from bench.box import session_in_a_box
from bench.broadcast.charts import save_charts
from bench.broadcast.contest import contest
from bench.broadcast.goals import goals
from bench.broadcast.plan import ALGORITHMS, FULL, QUICK
from bench.broadcast.simulation import simulate
from bench.broadcast.simulation_charts import save_simulation_charts
from bench.broadcast.simulation_tables import simulation_tables
from bench.broadcast.tables import tables
from bench.report import Outcome
from bench.settings import RunSettings


def run(settings: RunSettings) -> Outcome:
    """Measures on one cluster in a box, and simulates larger ones."""
    plan = QUICK if settings.quick else FULL
    with session_in_a_box("broadcast", plan.cluster, settings.progress) as spark:
        measured = contest(spark, plan, ALGORITHMS, settings.progress)
    simulated = simulate()
    return Outcome(
        figures={
            "plan": msgspec.to_builtins(plan),
            **msgspec.to_builtins(measured),
            "simulated": msgspec.to_builtins(simulated),
        },
        goals=goals(measured),
        rounds=plan.rounds,
        tables=(*tables(measured, plan.rounds), *simulation_tables(simulated)),
        plots=(*save_charts(settings.out, measured), *save_simulation_charts(settings.out, simulated)),
    )
