"""The run: switch, measure, judge."""

import os
import statistics
import tempfile
import time

import penstock as ps
from bench.monitor.plan import FULL, QUICK, Compared, Plan
from bench.monitor.sample_cost import sample_cost_s
from bench.monitor.slices import Slice, rate, ratios, taken
from bench.monitor.tables import cost_table, loss_table
from bench.monitor.topology import WORKERS, flooded, noted
from bench.report import Goal, Outcome
from bench.settings import RunSettings
from bench.stats import Spread, percentile
from penstock.spark.session import borrowed_session

_MOST_LOST = 0.01


def run(settings: RunSettings) -> Outcome:
    """One run, in which load is sampled now and not then: so both sides have the same processes and the same luck."""
    plan = QUICK if settings.quick else FULL
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder, borrowed_session(workers=WORKERS):
        with ps.start(
            flooded(folder),
            workers=WORKERS,
            delivery="at_most_once",
            store=f"sqlite://{settings.out.absolute()}/load.db",
            load_every_s=None,
        ) as running:
            time.sleep(plan.warm_s)
            measured = {compared.every_s: _slices(running, plan, compared, settings) for compared in plan.compared}
            time.sleep(0.5)  # so that there are notes behind the last slice
        notes = noted(folder)
    rates = {every_s: [(one.every_s, rate(notes, one)) for one in slices] for every_s, slices in measured.items()}
    loss = {every_s: _middle([1 - ratio for ratio in ratios(found)]) for every_s, found in rates.items()}
    quiet = statistics.median(per_s for found in rates.values() for every_s, per_s in found if every_s is None)
    cores = os.cpu_count() or 1
    cpu = {every_s: _middle([share / cores for share in taken(slices)]) for every_s, slices in measured.items()}
    sample_ms = 1e3 * sample_cost_s(settings.out)
    return Outcome(
        figures={
            "tuples_per_s_without": quiet,
            "loss": {f"{every_s:g}_s": spread for every_s, spread in loss.items()},
            "cpu_taken": {f"{every_s:g}_s": spread for every_s, spread in cpu.items()},
            "sample_cpu_ms": sample_ms,
            "rates": {f"{every_s:g}_s": found for every_s, found in rates.items()},
        },
        goals=tuple(
            Goal(name=f"loss_sampled_every_{every_s:g}_s", value=spread.median, comparison="<", limit=_MOST_LOST)
            for every_s, spread in loss.items()
        )
        + tuple(
            Goal(name=f"cpu_taken_sampled_every_{every_s:g}_s", value=spread.median, comparison="<", limit=_MOST_LOST)
            for every_s, spread in cpu.items()
        ),
        tables=(
            loss_table(loss, cpu, {compared.every_s: compared.rounds for compared in plan.compared}, quiet),
            cost_table(sample_ms),
        ),
    )


def _slices(running: ps.Run, plan: Plan, compared: Compared, settings: RunSettings) -> list[Slice]:
    """Pairs of slices; in every second one the sampled side is first, so that what drifts falls on both."""
    slices = []
    with settings.progress.stage(f"sampled every {compared.every_s:g} s", 2 * compared.rounds) as step:
        for turn in range(compared.rounds):
            pair = (None, compared.every_s) if turn % 2 == 0 else (compared.every_s, None)
            for every_s in pair:
                step("not sampled" if every_s is None else "sampled")
                running.tune_scheduling(load_every_s=every_s)
                time.sleep(plan.settle_s)
                began_ns, began_cpu_s = time.monotonic_ns(), time.process_time()
                time.sleep(compared.slice_s - plan.settle_s)
                cpu_s = time.process_time() - began_cpu_s
                slices.append(
                    Slice(every_s=every_s, began_ns=began_ns, ended_ns=time.monotonic_ns(), driver_cpu_s=cpu_s)
                )
    return slices


def _middle(values: list[float]) -> Spread:
    """The median and the middle half: single slices are at the mercy of whatever else the machine does."""
    ordered = sorted(values)
    return Spread(
        median=statistics.median(ordered), lowest=percentile(ordered, 0.25), highest=percentile(ordered, 0.75)
    )
