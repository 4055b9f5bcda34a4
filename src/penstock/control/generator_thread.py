"""A schedule generator in the driver: a thread that looks when there is something new in the store."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from penstock.control.load_records import Choice
from penstock.control.load_store import LoadStore
from penstock.control.schedule_generator import Generator
from penstock.errors import LoadStoreError

__all__ = ["GeneratorThread"]

log = logging.getLogger(__name__)


class GeneratorThread:
    """Begins when first a scheduler is chosen that looks at the load."""

    def __init__(self, url: str, run: str, *, on_schedule: Callable[[], None]) -> None:
        """`on_schedule` is called, in the thread, when a schedule was entered."""
        self._url = url
        self._run = run
        self._on_schedule = on_schedule
        self._news = threading.Event()
        self._closed = False
        self._thread: threading.Thread | None = None

    def news(self, choice: Choice) -> None:
        """Something is new in the store. For one thread, the keeper's."""
        if self._thread is None and choice.scheduler is not None and choice.settings.scheduling == "driver":
            self._thread = threading.Thread(target=self._generate, name="penstock-schedule-generator", daemon=True)
            self._thread.start()
        self._news.set()

    def close(self) -> None:
        """Ends the thread, when it has planned to the end. To be called when no news comes any more."""
        self._closed = True
        self._news.set()
        if self._thread is not None:
            self._thread.join()

    def _generate(self) -> None:
        generator: Generator | None = None
        while not self._closed:
            try:
                with LoadStore.open(self._url) as store:
                    if generator is None:
                        generator = Generator(store, self._run)
                    generator.store = store
                    self._look(generator)
            except LoadStoreError as error:  # the keeper has the same trouble, and tells of it
                log.debug("the schedule generator cannot use the load store: %s", error)
                self._wait()

    def _look(self, generator: Generator) -> None:
        while not self._closed:
            if generator.look(time.time()) is not None:
                self._on_schedule()
            self._wait(generator.rest_s(time.time()))

    def _wait(self, timeout_s: float | None = None) -> None:
        self._news.wait(timeout_s)
        self._news.clear()
