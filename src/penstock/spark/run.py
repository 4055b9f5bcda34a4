"""Running a topology on Spark."""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.control.choosing import first_choice
from penstock.control.settings import RunPlan
from penstock.flow.delivery import Delivery
from penstock.plan.edges import edges_of, help_edges_of
from penstock.plan.schedulers.base import Scheduler
from penstock.plan.schedulers.registry import scheduler as scheduler_named
from penstock.plan.shape import shape_of
from penstock.plan.tasks import tasks_of
from penstock.spark.doctor import refuse_or_warn
from penstock.spark.feeds import (
    feeds_of,
    queries_beside,
    require_computable,
    require_feedable,
    require_no_speculation,
    require_own_checkpoints,
    session_of_feeds,
)
from penstock.spark.guarantee import claimed_checkpoint, delivery_of, require_replayable
from penstock.spark.handle import Run
from penstock.spark.query_progress import require_fitting_queries
from penstock.spark.session import borrowed_session, spare_slots
from penstock.spark.settings import RunSettings
from penstock.spark.settings_check import examine_settings
from penstock.spark.slots import (
    count_slots,
    held_slots,
    require_room_for,
    workers_by_default,
    workers_to_ask_for,
    writers_of_each,
)
from penstock.spark.streams import ensure_registered, require_readable, spools_of
from penstock.spark.summary import Summary
from penstock.topology.pinned import pinned_components
from penstock.topology.scaling import unscalable_components
from penstock.topology.shipping import to_bytes
from penstock.topology.topology import Topology, require_topology

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Run", "run", "start"]

log = logging.getLogger(__name__)

_PROGRESS_EVERY_S = 0.5

Progress = Callable[[Run], None]


def run(
    topology: Topology,
    *,
    workers: int | None = None,
    min_workers: int | None = None,
    spark: SparkSession | None = None,
    scheduler: str | Scheduler = "even",
    delivery: Delivery | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Summary:
    """Runs a topology until it ends by itself, which it does when its spouts are bounded. Ctrl-C stops it.

    Args:
        topology: what to run. It is checked whole before anything starts.
        workers: how many worker processes; by default one for each slot that Spark has free and the topology has a
            task for, and on a local session that is started for this run one for each core of this machine.
        min_workers: how few will do when Spark has no room for more; by default all must come.
        spark: the session, classic or Connect; by default the active one, or else a local one for this run.
        scheduler: which scheduler places the tasks, and, unless it is ``even``, moves them while the run goes on, if
            load and traffic say that another placement is better.
        delivery: what is promised when something dies: ``at_most_once``, ``at_least_once`` or ``exactly_once``; by
            default at least once, and exactly once if there is a checkpoint.
        checkpoint: where to save all state: a path or URL of any filesystem that pyarrow knows, which all workers
            reach. If there is something already, the run goes on from it.
        progress: called with the run about twice a second, for those who watch.
        settings: any of `ControlSettings`, `WorkerSettings` and `SchedulingSettings`, by name.

    Raises:
        TopologyError: the topology cannot run; the text lists everything that is wrong with it.
        CheckpointError: the checkpoint cannot be used, or the topology cannot go on from it.
        SlotsError: Spark has fewer slots than workers are asked for.
        StartError: the workers could not start.
        RunError: the run failed. The text ends with the worker's traceback where there is one.
    """
    with start(
        topology,
        workers=workers,
        min_workers=min_workers,
        spark=spark,
        scheduler=scheduler,
        delivery=delivery,
        checkpoint=checkpoint,
        **settings,
    ) as running:
        if progress is None:
            summary = running.wait()
        else:
            while (over := running.wait(_PROGRESS_EVERY_S)) is None:
                progress(running)
            summary = over
    for failure in summary.metrics.failures:
        # What was refused and not raised has no traceback, and the message says it all.
        raised = "Traceback (most recent call last)" in failure.traceback
        trace = f", the first time:\n{failure.traceback}" if raised else ""
        log.warning("%s: %d × %s: %s%s", failure.component, failure.count, failure.kind, failure.message, trace)
    return summary


def start(
    topology: Topology,
    *,
    workers: int | None = None,
    min_workers: int | None = None,
    spark: SparkSession | None = None,
    scheduler: str | Scheduler = "even",
    delivery: Delivery | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    **settings: Any,
) -> Run:
    """Starts a topology, and returns when tuples can flow. Arguments and errors are those of `run`."""
    require_topology(topology)
    topology.check()
    require_own_checkpoints(topology)
    settings["delivery"] = promised = delivery_of(delivery, checkpoint)
    if promised == "exactly_once":
        require_replayable(topology)
    tasks = tasks_of(shape_of(topology))
    by_default = workers is None
    if workers is None:
        min_workers = min_workers or 1
        # For a session of our own, which is on this machine. What another one has is not known before it is there.
        workers = max(min_workers, min(len(tasks), len(os.sched_getaffinity(0))))
    asked = RunSettings.of(workers=workers, min_workers=min_workers, given=settings)
    planned = scheduler_named(scheduler) if isinstance(scheduler, str) else scheduler
    plan = _plan_of(topology, planned, asked)
    queries = queries_beside(topology)
    if spools_of(topology):
        require_readable(spark)
    with contextlib.ExitStack() as resources:
        session = resources.enter_context(borrowed_session(session_of_feeds(topology, spark), workers=workers))
        if spools_of(topology):
            ensure_registered(session)
        if plan.feeds:
            require_computable(topology, session)
            require_feedable(session)
        if plan.feeds and promised == "exactly_once":
            require_no_speculation(session)
        slots = count_slots(session)
        if by_default:
            spare = max(queries, spare_slots(session))
            here = workers_by_default(slots, tasks=len(tasks), spare=spare, unknown=workers)
            workers = max(min_workers or 1, here)
        refuse_or_warn(examine_settings(session, workers=workers, settings=asked.worker))
        granted = workers_to_ask_for(slots, workers=workers, min_workers=min_workers, queries=queries)
        hold = resources.enter_context(held_slots(session, run=plan.run, count=granted + queries))
        saved = None if checkpoint is None else claimed_checkpoint(topology, checkpoint, run=plan.run, feeds=plan.feeds)
        if saved is not None:
            plan = msgspec.structs.replace(
                plan,
                checkpoint_url=saved.store.url,
                shape=saved.shape,
                start=saved.start,
                claim=saved.claim,
                notices=saved.notices,
            )
        try:
            if saved is not None and saved.start is not None:
                require_fitting_queries(session, feeds_of(topology), saved.start.feeds)
            begun = Run(
                topology,
                plan,
                RunSettings.of(workers=granted, min_workers=min_workers, given=settings),
                session=session,
                resources=resources.pop_all(),
                hold=lambda workers: hold(workers + queries),
                store=None if saved is None else saved.store,
            )
        except BaseException:
            if saved is not None:
                saved.store.release(plan.run)
            raise
        try:
            begun.wait_until_begun()
            if plan.feeds:
                slots = count_slots(session)
                require_room_for(queries, slots)
                begun.start_feeds(writers=writers_of_each(slots, feeds=len(plan.feeds), queries=queries))
        except BaseException:
            begun.abandon()
            raise
    return begun


def _plan_of(topology: Topology, scheduler: Scheduler, asked: RunSettings) -> RunPlan:
    """What is to run, as far as the topology says it."""
    shape = shape_of(topology)
    tasks, pinned = tasks_of(shape), pinned_components(topology)
    return RunPlan(
        run=secrets.token_hex(4),
        topology=topology.name,
        tasks=tasks,
        edges=edges_of(shape),
        help_edges=help_edges_of(shape),
        blob=to_bytes(topology),
        scheduler=scheduler,
        feeds=tuple(feeds_of(topology)),
        pinned={task.id: pinned[task.component] for task in tasks if task.component in pinned},
        unscalable=unscalable_components(topology),
        choice=first_choice(scheduler, asked.scheduling),
    )
