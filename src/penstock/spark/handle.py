"""The handle that one holds of a topology that runs."""

from __future__ import annotations

import atexit
import contextlib
import datetime
import logging
import os
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self, overload

from penstock.checkpoint.store import CheckpointStore
from penstock.control.checkpoint_keeper import CheckpointKeeper
from penstock.control.controller import Controller
from penstock.control.instructions import Fail, Finish
from penstock.control.keys import RunKeys
from penstock.control.load_keeping import kept_load
from penstock.control.metrics import RunMetrics
from penstock.control.prometheus import prometheus_text
from penstock.control.registry import RunDirectory, RunFile
from penstock.control.server import ControlServer
from penstock.control.settings import RunPlan
from penstock.control.status import Phase, RunStatus
from penstock.control.ticket import Ticket
from penstock.errors import RunError, SlotsError, StartError
from penstock.spark.addresses import driver_address
from penstock.spark.feed_query import FeedQuery
from penstock.spark.feed_ticket import FeedTicket
from penstock.spark.feeds import feeds_of
from penstock.spark.interrupts import plain_interrupts
from penstock.spark.launch import SparkHost
from penstock.spark.movable import Movable
from penstock.spark.schedulable import Schedulable
from penstock.spark.settings import RunSettings
from penstock.spark.slots import count_slots
from penstock.spark.streams import spools_of
from penstock.spark.summary import Summary
from penstock.topology.topology import Topology

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Run"]

log = logging.getLogger(__name__)

# How often a start is looked at while somebody waits for it.
_LOOK_EVERY_S = 0.02


class Run(Movable, Schedulable):
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
        resources: contextlib.ExitStack,
        hold: Callable[[int], object],
        store: CheckpointStore | None = None,
    ) -> None:
        self.id = plan.run
        """Names the run among all, on the command line for one."""
        self.topology = topology
        self._process = os.getpid()
        self._session = session
        self._resources = resources
        self._failure: RunError | None = None
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
            directory = RunDirectory.default()
            load_store = settings.scheduling.store or directory.load_store_of(plan.run)
            self._publish(directory, keys, load_store)
            self._keys, self._worker_settings = keys, settings.worker
            self._feeds: list[FeedQuery] = []

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

            keeper = None
            if store is not None:
                keeper = CheckpointKeeper(store, run=plan.run, post=self._server.post)
                resources.callback(keeper.close)
            host = SparkHost(
                session, run=plan.run, topology=topology.name, ticket=ticket, post=self._server.post, hold=hold
            )
            resources.callback(host.close)
            # A script that ends without stopping its run: our threads would be cut off in the middle of a word.
            atexit.register(self.abandon)
            resources.callback(atexit.unregister, self.abandon)
            load_keeper = resources.enter_context(kept_load(plan, load_store, post=self._server.post))
            self._server.launch(host, keeper, load_keeper)
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

    def prometheus(self) -> str:
        """All counts in Prometheus' text format, for a scraper."""
        return prometheus_text(self.status(), self.metrics())

    def summary(self) -> Summary:
        """What is left of the run. RunError if it failed, or is not over."""
        end = self._end()
        if end is None:
            message = f"run {self.id} of topology {self.topology.name!r} is not over: wait for it, drain it or stop it"
            raise RunError(message)
        self._raise_failure(end)
        return Summary(self.topology, end.summary)

    # ---- ending

    @overload
    def wait(self, timeout_s: None = None) -> Summary: ...

    @overload
    def wait(self, timeout_s: float) -> Summary | None: ...

    def wait(self, timeout_s: float | None = None) -> Summary | None:
        """Waits until the run is over and everything that it used is given back. Returns what is left of it.

        Args:
            timeout_s: how long to wait at most; None is until it is over. If it goes on after that, None is returned.

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
                return None
            if isinstance(end, Fail):
                self._explained(end.error)  # as long as there is a session to ask
            self._release()
        self._raise_failure(end)
        return Summary(self.topology, end.summary)

    @overload
    def drain(self, timeout_s: None = None) -> Summary: ...

    @overload
    def drain(self, timeout_s: float) -> Summary | None: ...

    def drain(self, timeout_s: float | None = None) -> Summary | None:
        """Ends the run in good order: spouts stop, and what is under way is finished. Waits as `wait` does."""
        self._ask(self._server.drain)
        return self.wait(timeout_s)

    def stop(self) -> Summary:
        """Ends the run now, whatever is under way, and waits for that. Returns what is left of it.

        Raises:
            RunError: the run had failed before.
        """
        self._ask(self._server.stop)
        return self.wait()

    def abandon(self) -> None:
        """Ends the run now, however it stands, and raises nothing."""
        if os.getpid() != self._process:  # a forked child ends: the run is its parent's, and so is what it uses
            return
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
        # One that stops already has failed to start, if it is not a very short one: its end will tell.
        early = (Phase.STARTING, Phase.DEPLOYING, Phase.STOPPING)
        with plain_interrupts():
            while self._end() is None and self.status().phase in early:
                time.sleep(_LOOK_EVERY_S)
        end = self._end()
        if end is not None:
            self._raise_failure(end)

    def start_feeds(self, *, writers: int) -> None:
        """Starts the queries that feed its spouts; each may push with so many tasks of Spark's at a time."""
        self._resources.callback(self._stop_feeds)
        for name, frame in feeds_of(self.topology).items():
            ticket = FeedTicket(
                component=name,
                endpoint=self._server.endpoint,
                server_public=self._keys.server.public,
                keys=self._keys.client,
                settings=self._worker_settings,
            )
            tasks = self.topology.components[name].tasks
            self._feeds.append(
                FeedQuery(
                    frame, ticket, writers=min(tasks, writers), post=self._server.post, is_wanted=self._takes_rows
                )
            )

    def _takes_rows(self) -> bool:
        try:
            return self._end() is None and self.status().phase in (Phase.RUNNING, Phase.DRAINING)
        except RunError:
            return False

    def _stop_feeds(self) -> None:
        feeds, self._feeds = self._feeds, []
        for feed in feeds:
            feed.close()

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
        raise self._explained(end.error).with_traceback(None)

    def _explained(self, error: RunError) -> RunError:
        """The error, with the arithmetic if the run may have had too few slots."""
        if self._failure is None:
            self._failure = error
            if isinstance(error, StartError):
                with contextlib.suppress(Exception):  # the session may be what went wrong
                    # Counted now: executors come when they come, and before the start there may have been none.
                    slots = count_slots(self._session)
                    if slots.now is not None and slots.now < sum(slots.held.values()):
                        self._failure = SlotsError(f"{error}\n{slots}")
        return self._failure

    def _release(self) -> None:
        with self._release_lock:
            self._resources.close()

    def _publish(self, directory: RunDirectory, keys: RunKeys, load_store: str) -> None:
        """Lets the command line find this run. Where that is not possible, the run goes on without."""
        file = RunFile(
            run=self.id,
            topology=self.topology.name,
            endpoint=self._server.endpoint,
            server_public=keys.server.public,
            keys=keys.client,
            started_at=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            streams=spools_of(self.topology),
            load_store=load_store,
        )
        try:
            directory.publish(file)
        except (OSError, RunError) as error:
            log.warning("the command line will not find run %s: %s", self.id, error)
        else:
            self._resources.callback(directory.withdraw, self.id)

    def __repr__(self) -> str:
        return f"Run({self.id!r}, {self.topology.name!r}, {self.status().phase})"
