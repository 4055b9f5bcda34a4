"""The run: measure, judge, draw."""

import os
from collections import defaultdict

import msgspec

from bench.helping.charts import save_charts
from bench.helping.contest import sampled
from bench.helping.goals import goals
from bench.helping.measured import Cell, Measured, Sample
from bench.helping.plan import FULL, QUICK, Row
from bench.helping.simulated import simulate_all
from bench.helping.tables import tables
from bench.report import Outcome
from bench.rounds import interleaved
from bench.settings import RunSettings
from penstock.spark.session import borrowed_session

# A part of the rows, by their names: what changes one thing is measured again without the others.
_ONLY = "PENSTOCK_BENCH_ROWS"


def run(settings: RunSettings) -> Outcome:
    """Measures in a local session, with a worker for each task."""
    rows = QUICK if settings.quick else FULL
    only = os.environ.get(_ONLY)
    measured = measure([row for row in rows if only is None or row.name in only.split(";")], settings)
    return Outcome(
        figures=msgspec.to_builtins(measured),
        goals=goals(measured),
        tables=tables(measured),
        plots=save_charts(settings.out, measured),
    )


def measure(rows: list[Row], settings: RunSettings) -> Measured:
    """Row after row; the sides of each by turns."""
    cells: list[Cell] = []
    with borrowed_session(workers=max(row.workers for row in rows)) as spark:
        for row in rows:
            rounds: defaultdict[str, list[Sample]] = defaultdict(list)
            for side, _ in interleaved(settings.progress, "helping", row.sides, [row], row.rounds):
                rounds[side.name].append(sampled(spark, row, side))
            in_order = {side.name: rounds[side.name] for side in row.sides}
            cells.append(Cell(name=row.name, most=row.most, note=row.note, rounds=in_order))
    return Measured(cells=cells, simulated=simulate_all(rows))
