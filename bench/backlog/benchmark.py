"""The run: simulate, measure, judge, draw."""

import msgspec

from bench.backlog.charts import save_latency_charts, save_simulation_charts
from bench.backlog.contest import contest
from bench.backlog.goals import latency_goals, simulation_goals
from bench.backlog.measured import Measured
from bench.backlog.plan import FULL, QUICK, Plan
from bench.backlog.simulated import BY_QUEUES, BY_RATE, simulate_all
from bench.backlog.tables import latency_tables, simulation_tables
from bench.box import session_in_a_box
from bench.report import Outcome
from bench.settings import RunSettings
from penstock.devcluster.abilities import probe


def run(settings: RunSettings) -> Outcome:
    """Everything; without the box where links cannot be made narrow."""
    plan = QUICK if settings.quick else FULL
    wanted = list(dict.fromkeys((*BY_RATE, *BY_QUEUES)))
    with settings.progress.stage("simulation", len(wanted)) as step:
        cells = simulate_all(wanted, plan.seeds, step)
    measured = _measured(plan, settings)
    return Outcome(
        figures={
            "plan": msgspec.to_builtins(plan),
            "simulated": msgspec.to_builtins(cells),
            "measured": msgspec.to_builtins(measured),
        },
        goals=(*simulation_goals(cells), *latency_goals(measured)),
        rounds=plan.rounds,
        tables=(*simulation_tables(cells, plan.seeds), *latency_tables(measured, plan.rounds)),
        plots=(*save_simulation_charts(settings.out, cells), *save_latency_charts(settings.out, measured)),
    )


def _measured(plan: Plan, settings: RunSettings) -> list[Measured]:
    if probe().no_rates is not None:
        return []
    with session_in_a_box("backlog", plan.cluster, settings.progress) as spark:
        return contest(spark, plan, settings.progress)
