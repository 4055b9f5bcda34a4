"""Keeps the load store of a run, in a thread of its own: the controller must not wait for a database.

The driver's hand on the store. It writes what the controller says, fetches what was proposed, and tells the controller.
Nothing is opened before there is something to write, so a run that is over before the first sample leaves no trace. A
store that is out of reach or full is a notice, and is tried again with the next sample; a run never ends of it.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable

import msgspec

from penstock.control.events import Proposed
from penstock.control.load_records import Choice
from penstock.control.load_store import LoadStore
from penstock.control.scheduling import Declined, KeepChoice, KeepLoad, ScheduleOutcome, StoreTrouble
from penstock.errors import LoadStoreError
from penstock.plan.edges import Edge

__all__ = ["LoadKeeper", "RunFacts"]

log = logging.getLogger(__name__)


class RunFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What the store has to know of a run besides its load."""

    run: str
    topology: str
    edges: tuple[Edge, ...]
    pinned: dict[int, str]
    """Tasks that cannot move, and why."""


_Order = KeepLoad | KeepChoice | ScheduleOutcome
_FETCH = "fetch"


class LoadKeeper:
    """From the first order until it is closed."""

    def __init__(
        self,
        url: str,
        facts: RunFacts,
        choice: Choice,
        *,
        post: Callable[[Proposed | Declined | StoreTrouble], object],
        on_news: Callable[[Choice], None],
    ) -> None:
        """`on_news` is called, in the keeper's thread, when a sample or a choice has been entered."""
        self._url = url
        self._facts = facts
        self._choice = choice
        self._post = post
        self._on_news = on_news
        self._orders: queue.SimpleQueue[_Order | str | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._closed = False
        self._store: LoadStore | None = None
        self._in_trouble = False
        self._last_fetched = 0
        self._undecided: dict[int, ScheduleOutcome] = {}
        """What became of schedules, as long as that could not be entered."""

    def keep(self, order: _Order) -> None:
        """Has something entered."""
        with self._lock:
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._keep, name="penstock-load-keeper", daemon=True)
                self._thread.start()
        self._orders.put(order)

    def fetch_soon(self) -> None:
        """Has it look for schedules now, because there is one. From any thread."""
        self._orders.put(_FETCH)

    def close(self) -> None:
        """Ends the thread, when it has done what it was asked to."""
        with self._lock:
            self._closed = True
        self._orders.put(None)
        if self._thread is not None:
            self._thread.join()

    # ---- the thread

    def _keep(self) -> None:
        fetch_at_s = time.monotonic()
        while True:
            try:
                order = self._orders.get(timeout=max(0.0, fetch_at_s - time.monotonic()))
            except queue.Empty:
                order = _FETCH
            if order == _FETCH:
                fetch_at_s = time.monotonic() + self._choice.settings.fetch_every_s
            if isinstance(order, KeepChoice):
                fetch_at_s = min(fetch_at_s, time.monotonic() + order.choice.settings.fetch_every_s)
            self._try(order)
            if order is None:
                self._close_store()
                return

    def _try(self, order: _Order | str | None) -> None:
        try:
            self._do(order)
        except LoadStoreError as error:
            self._close_store()
            if not self._in_trouble:
                self._in_trouble = True
                self._post(StoreTrouble(error=str(error)))
            log.debug("the load store failed: %s", error)
        else:
            self._in_trouble = self._in_trouble and self._store is None

    def _do(self, order: _Order | str | None) -> None:
        # In trouble, only the newest sample tries again, and with it goes all that could not be entered before: a
        # database out of reach may take long to say so, and whoever waits for the end of this must not wait for each.
        if isinstance(order, KeepLoad):
            if not self._in_trouble or self._orders.empty():
                self._enter_load(order)
        elif isinstance(order, KeepChoice):
            self._choice = order.choice
            if not self._in_trouble:
                self._open().put_choice(self._facts.run, order.choice, now_s=time.time())
                self._on_news(self._choice)
        elif isinstance(order, ScheduleOutcome):
            self._undecided[order.schedule] = order
            if not self._in_trouble:
                self._enter_outcomes(self._open())
        elif self._store is None:
            return  # nothing was entered yet, or the next sample tries again
        elif order is None:
            self._store.end_run(self._facts.run, now_s=time.time())
        else:
            self._fetch(self._store)

    def _open(self) -> LoadStore:
        if self._store is None:
            self._store = LoadStore.open(self._url)
            if self._facts.run not in {known.run for known in self._store.runs()}:
                self._store.put_run(
                    self._facts.run,
                    topology=self._facts.topology,
                    edges=self._facts.edges,
                    choice=self._choice,
                    now_s=time.time(),
                )
        return self._store

    def _close_store(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None

    def _enter_load(self, order: KeepLoad) -> None:
        store = self._open()
        if self._in_trouble:
            store.put_choice(self._facts.run, self._choice, now_s=time.time())
        store.put_sample(
            self._facts.run,
            sample=order.sample,
            estimate=order.estimate,
            tasks=order.tasks,
            pinned=self._facts.pinned,
            workers=order.workers,
            assignment=order.assignment,
            history_s=self._choice.settings.history_s,
            now_s=time.time(),
        )
        self._enter_outcomes(store)
        self._on_news(self._choice)

    def _enter_outcomes(self, store: LoadStore) -> None:
        for number, outcome in list(self._undecided.items()):
            store.decide(self._facts.run, number, status=outcome.status, reason=outcome.reason, now_s=time.time())
            del self._undecided[number]

    def _fetch(self, store: LoadStore) -> None:
        for schedule in store.schedules(self._facts.run, after=self._last_fetched):
            self._last_fetched = schedule.number
            if schedule.status == "proposed":
                self._post(
                    Proposed(
                        schedule=schedule.number,
                        worker_of=schedule.worker_of,
                        scheduler=schedule.scheduler,
                        why=schedule.reason,
                        assignment=schedule.assignment,
                    )
                )
            elif schedule.status == "refused":
                self._post(Declined(scheduler=schedule.scheduler, why=schedule.reason))
