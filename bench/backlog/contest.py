"""All policies on the same sentences, run after run: settings of workers hold for a whole run."""

import json
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec

import penstock as ps
from bench.backlog.measured import FIFO, LBF, ROUND_ROBIN, Measured, Sample
from bench.backlog.plan import Experiment, Plan
from bench.backlog.topology import SplitHereCountThere, split_count
from bench.progress import Progress
from bench.rounds import interleaved
from bench.stats import percentile

_LOOK_EVERY_S = 1.0
_PATIENCE_S = 120.0

Noted = tuple[int, int, int]
"""Of a word: which task has split it, when its sentence was due, and when it was counted."""


class Contestant(msgspec.Struct, frozen=True, kw_only=True):
    """A policy with its interval."""

    name: str
    settings: dict[str, Any]

    def __str__(self) -> str:
        return self.name


def contestants(plan: Plan) -> list[Contestant]:
    """`fifo`, which knows no interval; `round_robin` with the shortest; `lbf` with each."""
    found = [Contestant(name=FIFO, settings={"outgoing": FIFO})]
    for policy, intervals in ((ROUND_ROBIN, plan.intervals_ms[:1]), (LBF, plan.intervals_ms)):
        found += [
            Contestant(
                name=f"{policy} {interval} ms", settings={"outgoing": policy, "outgoing_interval_ms": float(interval)}
            )
            for interval in intervals
        ]
    return found


def contest(spark: Any, plan: Plan, progress: Progress) -> list[Measured]:
    """Measures everything of the plan."""
    rounds: dict[tuple[str, str], list[Sample]] = defaultdict(list)
    by_name = {experiment.name: experiment for experiment in plan.experiments}
    some = contestants(plan)
    for contestant, name in interleaved(progress, "backlog", some, [*by_name], plan.rounds):
        noted = _run(spark, plan, by_name[name], contestant)
        rounds[name, contestant.name].append(sample_of(noted, plan.warm_up_s))
    return [
        Measured(
            experiment=experiment,
            intervals_ms=plan.intervals_ms,
            rounds={contestant.name: rounds[name, contestant.name] for contestant in some},
        )
        for name, experiment in by_name.items()
    ]


def _run(spark: Any, plan: Plan, experiment: Experiment, contestant: Contestant) -> list[Noted]:
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        topology = split_count(experiment.grouping, experiment.per_s, plan.seconds, folder)
        with ps.start(
            topology,
            spark=spark,
            workers=plan.cluster.nodes * plan.workers_per_node,
            scheduler=SplitHereCountThere(),
            delivery="at_most_once",
            **contestant.settings,
        ) as run:
            _await_end(run, f"{experiment.name}, {contestant}")
        return [tuple(word) for file in sorted(Path(folder).glob("*.json")) for word in json.loads(file.read_text())]


def _await_end(run: ps.Run, what: str) -> None:
    deadline_s = time.monotonic() + _PATIENCE_S
    while not run.wait(_LOOK_EVERY_S):
        if time.monotonic() > deadline_s:
            message = f"{what}: not all words were counted within {_PATIENCE_S:g} s"
            raise ps.RunError(message)


def sample_of(noted: Iterable[Noted], warm_up_s: float) -> Sample:
    """What was noted of the words whose sentences were due after the warm-up."""
    words = list(noted)
    begin_ns = min(born_ns for _, born_ns, _ in words) + warm_up_s * 1e9
    by_task: dict[int, list[float]] = defaultdict(list)
    for task, born_ns, counted_ns in words:
        if born_ns >= begin_ns:
            by_task[task].append((counted_ns - born_ns) / 1e6)
    ages = sorted(age for ages in by_task.values() for age in ages)
    return Sample(
        words=len(ages),
        mean_ms=fmean(ages),
        p50_ms=percentile(ages, 0.50),
        p99_ms=percentile(ages, 0.99),
        slowest_task_ms=max(map(fmean, by_task.values())),
    )
