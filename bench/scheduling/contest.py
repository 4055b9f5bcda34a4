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
from penstock.control.load_store import LoadStore
from penstock.plan.schedulers.base import Scheduler

# A spout emits what is due when it is asked; what is measured begins then. To ask it more often is work for nothing.
_IDLE_SPOUT_WAIT_US = 5_000
_LOAD_EVERY_S = 0.5
_LOAD_ALPHA = 0.3


def contest(spark: Any, experiment: Experiment, plan: Plan, progress: Progress) -> Cell:
    """Measures one topology on one layout."""
    rounds: dict[str, list[Sample]] = defaultdict(list)
    with started(spark, experiment, EVEN) as (run, tap, store):
        chosen = choose_rate(experiment.most_per_s, measured_share(tap.turn))
        tap.turn(chosen.per_s)
        time.sleep(plan.settle_s)
        turns = interleaved(progress, "scheduling", experiment.contestants, [experiment.name], plan.rounds)
        for contestant, _ in turns:
            _apply(run, contestant)
            time.sleep(plan.settle_s)
            rounds[contestant.name].append(sampled(run, store, plan.window_s))
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
) -> Iterator[tuple[ps.Run, Tap, LoadStore]]:
    """A topology without any input yet, the tap for that, and where its load is kept."""
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        url = f"sqlite:///{Path(folder, 'load')}"
        tap = Tap(folder)
        with (
            ps.start(
                experiment.build(tap.file, None),
                spark=spark,
                workers=experiment.layout.workers,
                scheduler=scheduler,
                delivery="at_most_once",
                idle_spout_wait_us=_IDLE_SPOUT_WAIT_US,
                store=url,
                load_every_s=_LOAD_EVERY_S,
                load_alpha=_LOAD_ALPHA,
                **{"scheduling": "off"} | settings,
            ) as run,
            LoadStore.open(url) as store,
        ):
            yield run, tap, store
