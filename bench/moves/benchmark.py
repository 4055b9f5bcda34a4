"""The run: measure, judge."""

import msgspec

from bench.box import session_in_a_box
from bench.moves.goals import goals
from bench.moves.measured import Measured, Restarted, Steady
from bench.moves.plan import BOX, FULL, QUICK, WORKERS, Plan
from bench.moves.restart import restart
from bench.moves.steady import steady
from bench.moves.tables import tables
from bench.report import Outcome
from bench.settings import RunSettings
from penstock.spark.session import borrowed_session


def run(settings: RunSettings) -> Outcome:
    """Measures in a local session, and on a cluster in a box."""
    measured = measure(QUICK if settings.quick else FULL, settings)
    return Outcome(figures=msgspec.to_builtins(measured), goals=goals(measured), tables=tables(measured))


def measure(plan: Plan, settings: RunSettings) -> Measured:
    """Everything of the plan."""
    runs: list[Steady] = []
    restarted: list[Restarted] = []
    local = [case for case in plan.cases if case.place == "local"]
    boxed = [case for case in plan.cases if case.place == "box"]
    with settings.progress.stage("moves", len(plan.cases) + len(plan.restarted)) as step:
        with borrowed_session(workers=WORKERS) as spark:
            for case in local:
                step(case.name)
                runs.append(steady(spark, case, plan))
            for case in plan.restarted:
                step(f"{case.name}, stopped and started")
                restarted.append(restart(spark, case, plan.restarts))
        if boxed:
            with session_in_a_box("moves", BOX, settings.progress) as spark:
                for case in boxed:
                    step(case.name)
                    runs.append(steady(spark, case, plan))
    return Measured(steady=runs, restarted=restarted)
