"""All schedulers on one running topology, round after round: each is put in use, and tasks move while tuples flow."""

import contextlib
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import penstock as ps
from bench.progress import Progress
from bench.rounds import interleaved
from bench.scheduling.looking import sampled
from bench.scheduling.measured import Cell, Sample
from bench.scheduling.plan import EVEN, Contestant, Experiment, Plan
from bench.scheduling.rates import choose_rate, measured_share
from bench.scheduling.tap import Tap
from penstock.plan.schedulers.base import Scheduler

# A spout emits what is due when it is asked; what is measured begins then. To ask it more often is work for nothing.
_IDLE_SPOUT_WAIT_US = 5_000
_NEVER_S = 3600.0
# Nobody plans but who is asked to, and what that knows of the load is new.
_ON_DEMAND = {"scheduling": "off", "load_every_s": 0.5, "load_alpha": 0.3}


def contest(spark: Any, experiment: Experiment, plan: Plan, progress: Progress) -> Cell:
    """Measures one topology on one layout."""
    rounds: dict[str, list[Sample]] = defaultdict(list)
    with started(spark, experiment, EVEN, **_ON_DEMAND) as (run, tap):
        chosen = choose_rate(experiment.most_per_s, measured_share(tap.turn))
        tap.turn(chosen.per_s)
        time.sleep(plan.settle_s)
        turns = interleaved(progress, "scheduling", experiment.contestants, [experiment.name], plan.rounds)
        for contestant, _ in turns:
            _apply(run, contestant)
            time.sleep(plan.settle_s)
            rounds[contestant.name].append(sampled(run, plan.window_s))
    in_order = {one.name: rounds[one.name] for one in experiment.contestants}
    return Cell(name=experiment.name, chosen=chosen, rounds=in_order)


def _apply(run: ps.Run, contestant: Contestant) -> None:
    """Everybody begins where `even` has put the tasks, because some schedulers look at where they are."""
    run.use_scheduler(EVEN)
    run.rebalance()
    if contestant.name != EVEN:
        run.use_scheduler(contestant.scheduler, **contestant.parameters)
        run.rebalance()


@contextlib.contextmanager
def started(
    spark: Any, experiment: Experiment, scheduler: str | Scheduler, **settings: Any
) -> Iterator[tuple[ps.Run, Tap]]:
    """A topology without any input yet, and the tap for that."""
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        tap = Tap(folder)
        fixed: dict[str, Any] = {
            "delivery": "at_most_once",
            "idle_spout_wait_us": _IDLE_SPOUT_WAIT_US,
            "store": f"sqlite:///{Path(folder, 'load')}",
            "release_after_s": _NEVER_S,  # the next schedule may want all workers again
        }
        with ps.start(
            experiment.build(tap.file, None),
            spark=spark,
            workers=experiment.layout.workers,
            scheduler=scheduler,
            **fixed | settings,
        ) as run:
            yield run, tap
