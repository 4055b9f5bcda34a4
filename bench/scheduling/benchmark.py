"""The run: measure, judge, draw."""

import importlib.util
from itertools import groupby

import msgspec

from bench.box import session_in_a_box
from bench.report import Outcome
from bench.scheduling import gap, planning
from bench.scheduling.charts import save_charts
from bench.scheduling.contest import contest
from bench.scheduling.gap import Gap
from bench.scheduling.goals import goals
from bench.scheduling.measured import Cell, Measured, Overload
from bench.scheduling.overload import overload
from bench.scheduling.plan import FULL, LINKS, QUICK, Plan
from bench.scheduling.tables import tables
from bench.settings import RunSettings
from penstock.devcluster.abilities import probe


def run(settings: RunSettings) -> Outcome:
    """Measures on a cluster in a box for each layout."""
    plan = QUICK if settings.quick else FULL
    measured = measure(plan, settings)
    return Outcome(
        figures=msgspec.to_builtins(measured),
        goals=goals(measured),
        rounds=plan.rounds,
        tables=tables(measured, plan.rounds),
        plots=save_charts(settings.out, measured),
    )


def measure(plan: Plan, settings: RunSettings) -> Measured:
    """Everything of the plan; experiments of one layout, next to each other, share a box."""
    cells: list[Cell] = []
    overloads: list[Overload] = []
    for layout, experiments in groupby(plan.experiments, key=lambda experiment: experiment.layout):
        with session_in_a_box("scheduling", layout.cluster, settings.progress) as spark:
            cells += [contest(spark, experiment, plan, settings.progress) for experiment in experiments]
            overloads += [
                overload(spark, experiment, plan.overload_s)
                for experiment in plan.overloads
                if experiment.layout == layout
            ]
    return Measured(
        links=probe().shape_for(LINKS),
        cells=cells,
        overloads=overloads,
        gaps=_gaps(plan),
        planned=list(planning.measure(plan.planning_sizes)),
    )


def _gaps(plan: Plan) -> list[Gap]:
    if importlib.util.find_spec("ortools") is None:
        return []
    return list(gap.measure(plan.gap_cases))
