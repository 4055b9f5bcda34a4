"""The run: measure, judge."""

from bench.report import Outcome
from bench.scale.charts import load_chart, size_chart, soak_chart
from bench.scale.goals import scale_goals
from bench.scale.load import measure_load
from bench.scale.plan import FULL, QUICK
from bench.scale.sizes import Size, measure_sizes
from bench.scale.soak import soak
from bench.scale.state import measure_state
from bench.scale.tables import load_table, size_table, soak_table, state_table
from bench.settings import RunSettings
from penstock.spark.session import borrowed_session


def run(settings: RunSettings) -> Outcome:
    """One thing after another, all in one Spark session."""
    plan = QUICK if settings.quick else FULL
    progress = settings.progress
    with borrowed_session(workers=max(*plan.workers, 4)):
        by_tasks = measure_sizes(plan, [Size(tasks=tasks, workers=2) for tasks in plan.tasks], "tasks", progress)
        by_workers = measure_sizes(
            plan, [Size(tasks=workers, workers=workers) for workers in plan.workers], "workers", progress
        )
        load = measure_load(plan, progress)
        with progress.stage("state and soak", 2) as step:
            step(f"{plan.keys:,} keys")
            state = measure_state(plan.keys)
            step(f"{plan.soak_s:,.0f} s at {plan.soak_rate_per_s:,} tuples/s")
            slices = soak(plan.soak_rate_per_s, plan.soak_s, plan.slice_s)
    return Outcome(
        figures={"by_tasks": by_tasks, "by_workers": by_workers, "load": load, "state": state, "soak": slices},
        rounds=plan.rounds,
        cpu_us_per_record={
            f"{what}: {row.size}": row.cpu_us_per_tuple.median
            for what, rows in (("tasks", by_tasks), ("workers", by_workers))
            for row in rows
        },
        goals=scale_goals(by_tasks, by_workers, state, slices),
        tables=(
            size_table("What a tuple costs with more tasks, on two workers", by_tasks, plan.rounds),
            size_table("What a tuple costs with more workers, a task each", by_workers, plan.rounds),
            load_table(load, plan.rounds),
            state_table(state),
            soak_table(slices, plan.slice_s, plan.soak_rate_per_s),
        ),
        plots=(
            size_chart(settings.out, by_tasks, by_workers),
            load_chart(settings.out, load),
            *([soak_chart(settings.out, slices, plan.slice_s)] if slices else []),
        ),
    )
