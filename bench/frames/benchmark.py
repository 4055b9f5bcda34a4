"""The run: measure, judge."""

import tempfile
from pathlib import Path

from bench.frames import by_key, each_row, running
from bench.frames.contest import Contest, Work
from bench.frames.goals import frames_goals
from bench.frames.plan import FULL, QUICK
from bench.frames.readings import Readings
from bench.frames.session import two_slots
from bench.frames.tables import left_out_table, rates_table
from bench.report import Outcome
from bench.settings import RunSettings

_TITLES = {
    "each row": "One row out for each row in, nothing exchanged",
    "by key": "A total for each of 1,000 keys",
    "running": "Running counts of 1,000 keys, one row out for each row in",
}


def run(settings: RunSettings) -> Outcome:
    """Measures in one Spark session of two slots."""
    plan = QUICK if settings.quick else FULL
    contest = Contest(settings.progress, plan.rounds)
    with two_slots() as session, tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        many, fewer = (
            Readings.written(session, Path(folder), rows=rows, sensors=plan.sensors)
            for rows in (plan.rows, plan.running_rows)
        )
        works = (
            (Work(name="each row", contestants=each_row.EACH_ROW, by_spark=each_row.by_spark), many),
            (Work(name="by key", contestants=by_key.BY_KEY, by_spark=by_key.by_spark), many),
            (Work(name="running", contestants=running.RUNNING, by_spark=running.by_spark), fewer),
        )
        rates = {work.name: contest.rates(work, readings) for work, readings in works}
    return Outcome(
        figures={"rates": rates, "left_out": contest.left_out, "rows": {work.name: rows.rows for work, rows in works}},
        goals=frames_goals(rates),
        rounds=plan.rounds,
        tables=(
            *(rates_table(_TITLES[work.name], rates[work.name], rows.rows, plan.rounds) for work, rows in works),
            left_out_table(contest.left_out),
        ),
    )
