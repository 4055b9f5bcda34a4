"""T-Storm's figures 9 and 10: all in one worker, then twice the input; how soon is it noticed, and spread?"""

import time
from typing import Any

import penstock as ps
from bench.scheduling.contest import started
from bench.scheduling.looking import nodes_and_workers
from bench.scheduling.measured import Moment, Overload
from bench.scheduling.placement import OneWorker
from bench.scheduling.plan import PENSTOCK, Experiment
from bench.scheduling.tap import Tap
from bench.scheduling.window import times_between
from penstock.plan.shape import shape_of
from penstock.plan.tasks import tasks_of

_LOOK_S = 1.0
_BEFORE_S = 10.0
_FLOOD_PER_S = 1e6
# Of what one worker can do, before the input is doubled: that is borne well, and twice as much cannot be.
_SHARE_BEFORE = 0.6
# The paper's periods are 20 s, 300 s and 10 s, on an experiment of 1,000 s.
_PERIODS = {"load_every_s": 2.0, "load_alpha": 0.5, "schedule_every_s": 30.0, "fetch_every_s": 1.0}


def overload(spark: Any, experiment: Experiment, seconds: float) -> Overload:
    """Watches one topology from `_BEFORE_S` before until so many seconds after its input is doubled."""
    with started(spark, experiment, OneWorker(), **_PERIODS) as (run, tap):
        per_s = _bearable(run, tap)
        run.use_scheduler(PENSTOCK)
        moments: list[Moment] = []
        tap.turn(per_s)
        began_s = time.monotonic() + _BEFORE_S
        doubled = False
        seen = run.metrics().end_to_end_histogram
        while (now_s := time.monotonic()) < began_s + seconds:
            if not doubled and now_s >= began_s:
                tap.turn(2 * per_s)
                doubled = True
            time.sleep(_LOOK_S)
            last, seen = seen, run.metrics().end_to_end_histogram
            times = times_between(last, seen)
            nodes, workers = nodes_and_workers(run)
            at_s = time.monotonic() - began_s
            moments.append(
                Moment(at_s=at_s, mean_ms=None if times is None else times.mean_ms, nodes=nodes, workers=workers)
            )
    return Overload(name=experiment.name, per_s=per_s, moments=moments)


def _bearable(run: ps.Run, tap: Tap) -> float:
    """A rate that is `_SHARE_BEFORE` of what the one worker can do, which is what it takes of a flood."""
    tap.turn(_FLOOD_PER_S)
    time.sleep(_LOOK_S)
    before = run.metrics()
    time.sleep(4 * _LOOK_S)
    after = run.metrics()
    tap.turn(0.0)
    time.sleep(4 * _LOOK_S)
    emitted = [sum(task.emitted for task in look.tasks if task.task in _spouts(run)) for look in (before, after)]
    per_s = (emitted[1] - emitted[0]) / (after.run_s - before.run_s)
    return _SHARE_BEFORE * per_s / len(_spouts(run))


def _spouts(run: ps.Run) -> set[int]:
    return {task.id for task in tasks_of(shape_of(run.topology)) if task.kind == "spout"}
