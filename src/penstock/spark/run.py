"""Running a topology on Spark, and the handle that one then holds."""

from __future__ import annotations

import atexit
import contextlib
import datetime
import logging
import os
import secrets
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from penstock.control.controller import Controller
from penstock.control.instructions import Fail, Finish
from penstock.control.keys import RunKeys
from penstock.control.metrics import RunMetrics
from penstock.control.registry import RunDirectory, RunFile
from penstock.control.server import ControlServer
from penstock.control.settings import RunPlan
from penstock.control.status import Phase, RunStatus
from penstock.control.ticket import Ticket
from penstock.errors import RunError, SlotsError, StartError
from penstock.plan.edges import edges_of
from penstock.plan.schedulers.base import Scheduler
from penstock.plan.schedulers.registry import scheduler as scheduler_named
from penstock.plan.shape import shape_of
from penstock.plan.tasks import tasks_of
from penstock.spark.addresses import driver_address
from penstock.spark.doctor import refuse_or_warn
from penstock.spark.interrupts import plain_interrupts
from penstock.spark.launch import SparkHost
from penstock.spark.session import borrowed_session
from penstock.spark.settings import RunSettings
from penstock.spark.settings_check import examine_settings
from penstock.spark.slots import Slots, count_slots, held_slots, workers_to_ask_for
from penstock.spark.summary import Summary
from penstock.topology.shipping import to_bytes
from penstock.topology.topology import Topology

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Run", "run", "start"]

log = logging.getLogger(__name__)

# How often a start or a run is looked at while somebody waits for it.
_LOOK_EVERY_S = 0.02
_PROGRESS_EVERY_S = 0.5

Progress = Callable[["Run"], None]


def run(
    topology: Topology,
    *,
    workers: int | None = None,
    min_workers: int | None = None,
    spark: SparkSession | None = None,
    scheduler: str | Scheduler = "even",
    progress: Progress | None = None,
    **settings: Any,
) -> Summary:
    """Runs a topology until it ends by itself, which it does when its spouts are bounded. Ctrl-C stops it.

    Args:
        topology: what to run. It is checked whole before anything starts.
        workers: how many worker processes; by default one for each core that the topology can make use of.
        min_workers: how few will do when Spark has no room for more; by default all must come.
        spark: the session, classic or Connect; by default the active one, or else a local one for this run.
        scheduler: which scheduler places the tasks.
        progress: called with the run about twice a second, for those who watch.
        settings: any of `ControlSettings` and `WorkerSettings`, by name.

    Raises:
        TopologyError: the topology cannot run; the text lists everything that is wrong with it.
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
        **settings,
    ) as running:
        while not running.wait(timeout_s=None if progress is None else _PROGRESS_EVERY_S):
            assert progress is not None
            progress(running)
        summary = running.summary()
    for failure in summary.metrics.failures:
        log.warning(
            "%s: %d × %s: %s, the first time:\n%s",
            failure.component,
            failure.count,
            failure.kind,
            failure.message,
            failure.traceback,
        )
    return summary


def start(
    topology: Topology,
    *,
    workers: int | None = None,
    min_workers: int | None = None,
    spark: SparkSession | None = None,
    scheduler: str | Scheduler = "even",
    **settings: Any,
) -> Run:
    """Starts a topology, and returns when tuples can flow. Arguments and errors are those of `run`."""
    topology.check()
    tasks = tasks_of(shape_of(topology))
    if workers is None:
        workers = max(min_workers or 1, min(len(tasks), len(os.sched_getaffinity(0))))
    asked = RunSettings.of(workers=workers, min_workers=min_workers, given=settings)
    planned = scheduler_named(scheduler) if isinstance(scheduler, str) else scheduler
    plan = RunPlan(
        run=secrets.token_hex(4),
        topology=topology.name,
        tasks=tasks,
        edges=edges_of(shape_of(topology)),
        blob=to_bytes(topology),
        scheduler=planned,
    )
    with contextlib.ExitStack() as resources:
        session = resources.enter_context(borrowed_session(spark, workers=workers))
        refuse_or_warn(examine_settings(session, workers=workers, settings=asked.worker))
        slots = count_slots(session)
        granted = workers_to_ask_for(slots, workers=workers, min_workers=min_workers)
        resources.enter_context(held_slots(session, run=plan.run, count=granted))
        begun = Run(
            topology,
            plan,
            RunSettings.of(workers=granted, min_workers=min_workers, given=settings),
            session=session,
            slots=slots,
            resources=resources.pop_all(),
        )
        try:
            begun.wait_until_begun()
        except BaseException:
            begun.abandon()
            raise
    return begun


class Run:
    """A topology that runs. Leaving it as a context manager stops it.

    Made by `start`. It can be asked from any thread.
    """

    def __init__(
        self,
        topology: Topology,
        plan: RunPlan,
        settings: RunSettings,
        *,
        session: SparkSession,
        slots: Slots,
        resources: contextlib.ExitStack,
    ) -> None:
        self.id = plan.run
        """Names the run among all, on the command line for one."""
        self.topology = topology
        self._settings = settings
        self._slots = slots
        self._resources = resources
        self._release_lock = threading.Lock()
        self._failure_told = False
        with resources:  # closed again if anything of this fails
            keys = RunKeys.make()
            address = driver_address(session)
            self._server = resources.enter_context(
                ControlServer(
                    Controller(plan, settings.control),
                    keys=keys,
                    bind_host=address.bind_host,
                    public_host=address.public_host,
                )
            )
            self._publish(keys)

            def ticket(worker: int, launch: int) -> Ticket:
                return Ticket(
                    run=plan.run,
                    worker=worker,
                    launch=launch,
                    endpoint=self._server.endpoint,
                    server_public=keys.server.public,
                    keys=keys.client,
                    settings=settings.worker,
                )

            host = SparkHost(session, run=plan.run, topology=topology.name, ticket=ticket, post=self._server.post)
            resources.callback(host.close)
            # A script that ends without stopping its run: our threads would be cut off in the middle of a word.
            atexit.register(self.abandon)
            resources.callback(atexit.unregister, self.abandon)
            self._server.launch(host)
            self._resources = resources.pop_all()

    # ---- asking

    def status(self) -> RunStatus:
        """How far the run is and who takes part."""
        end = self._end()
        return self._server.status() if end is None else end.summary.status

    def metrics(self) -> RunMetrics:
        """All counts."""
        end = self._end()
        return self._server.metrics() if end is None else end.summary.metrics

    def summary(self) -> Summary:
        """What is left of the run. RunError if it failed, or is not over."""
        end = self._end()
        if end is None:
            message = f"run {self.id} of topology {self.topology.name!r} is not over: wait for it, drain it or stop it"
            raise RunError(message)
        self._raise_failure(end)
        return Summary(self.topology, end.summary)

    # ---- ending

    def wait(self, timeout_s: float | None = None) -> bool:
        """Waits until the run is over and everything that it used is given back; False if it is not in time.

        Raises:
            RunError: the run failed.
        """
        with plain_interrupts():
            try:
                end = self._server.wait(timeout_s)
            except RunError:  # the controller itself broke down
                self._release()
                raise
            if end is None:
                return False
            self._release()
        self._raise_failure(end)
        return True

    def drain(self, timeout_s: float | None = None) -> bool:
        """Ends the run in good order: spouts stop, and what is under way is finished. Waits as `wait` does."""
        self._ask(self._server.drain)
        return self.wait(timeout_s)

    def stop(self) -> None:
        """Ends the run now, whatever is under way, and waits for that.

        Raises:
            RunError: the run had failed before.
        """
        self._ask(self._server.stop)
        self.wait()

    def abandon(self) -> None:
        """Ends the run now, however it stands, and raises nothing."""
        with contextlib.suppress(RunError):
            self.stop()
        self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None and not self._failure_told:
            self.stop()
        else:
            self.abandon()

    # ---- within

    def wait_until_begun(self) -> None:
        """Waits until tuples can flow. An error of the start is raised."""
        with plain_interrupts():
            while self._end() is None and self.status().phase in (Phase.STARTING, Phase.DEPLOYING):
                time.sleep(_LOOK_EVERY_S)
        end = self._end()
        if end is not None:
            self._raise_failure(end)

    def _end(self) -> Finish | Fail | None:
        return self._server.wait(0)

    def _ask(self, demand: Callable[[], None]) -> None:
        try:
            demand()
        except RunError:
            if self._end() is None:  # over already is what was wanted
                raise

    def _raise_failure(self, end: Finish | Fail) -> None:
        if isinstance(end, Finish):
            return
        self._failure_told = True
        # Where in the controller it was made, and who else has been raised it, is of no interest.
        error = end.error.with_traceback(None)
        slots = self._slots
        if isinstance(error, StartError) and slots.now is not None and slots.now < self._settings.control.workers:
            message = f"{error}\n{slots}; there may be too few"
            raise SlotsError(message) from error
        raise error

    def _release(self) -> None:
        with self._release_lock:
            self._resources.close()

    def _publish(self, keys: RunKeys) -> None:
        """Lets the command line find this run. Where that is not possible, the run goes on without."""
        directory = RunDirectory.default()
        file = RunFile(
            run=self.id,
            topology=self.topology.name,
            endpoint=self._server.endpoint,
            server_public=keys.server.public,
            keys=keys.client,
            started_at=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        )
        try:
            directory.publish(file)
        except (OSError, RunError) as error:
            log.warning("the command line will not find run %s: %s", self.id, error)
        else:
            self._resources.callback(directory.withdraw, self.id)

    def __repr__(self) -> str:
        return f"Run({self.id!r}, {self.topology.name!r}, {self.status().phase})"
