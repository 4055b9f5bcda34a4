"""A server with real sockets, a host that starts nothing, and workers that the test plays."""

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from penstock.control import patience
from penstock.control.client import ControlClient
from penstock.control.controller import Controller
from penstock.control.keys import RunKeys
from penstock.control.protocol import FromController
from penstock.control.server import ControlServer
from penstock.control.settings import ControlSettings, RunPlan
from tests.control.stage import PLAN
from tests.ring.patience import wait_until

# A played worker speaks when the test has it speak, and on a busy machine the test gets its turn late. It is judged by
# what it says, and not by when, unless the test is about that.
PATIENT: dict[str, Any] = {
    "workers": 1,
    "start_timeout_s": 1000.0,
    "detection_s": 1000.0,
    "slow_call_s": 1000.0,
    "max_call_s": 1000.0,
    "stop_timeout_s": 1000.0,
    "move_timeout_s": 1000.0,
}


class IdleHost:
    """Remembers what it was asked for."""

    def __init__(self) -> None:
        self.started: list[tuple[int, int]] = []
        self.stopped: list[tuple[int, int]] = []
        self.held: list[int] = []

    def start_worker(self, worker: int, launch: int) -> None:
        self.started.append((worker, launch))

    def stop_worker(self, worker: int, launch: int) -> None:
        self.stopped.append((worker, launch))

    def hold_slots(self, count: int) -> None:
        self.held.append(count)


class Played:
    """A worker's connection, and everything it heard."""

    def __init__(self, client: ControlClient) -> None:
        self.client = client
        self.heard: list[FromController] = []

    def hears(self, kind: type[Any]) -> Any:
        """Polls until a message of this kind has come, and returns it."""
        wait_until(lambda: self._poll_for(kind), f"{kind.__name__} in {self.heard}")
        return next(message for message in self.heard if isinstance(message, kind))

    def _poll_for(self, kind: type[Any]) -> bool:
        self.heard.extend(self.client.poll())
        return any(isinstance(message, kind) for message in self.heard)


class Troupe:
    """One run: its keys, its server, its host."""

    def __init__(self, plan: RunPlan = PLAN, **settings: Any) -> None:
        self.keys = RunKeys.make()
        self.host = IdleHost()
        self.controller = Controller(plan, ControlSettings(**(PATIENT | settings)))
        self.server = ControlServer(self.controller, keys=self.keys)

    def client(self, **about: Any) -> ControlClient:
        said: dict[str, Any] = {
            "endpoint": self.server.endpoint,
            "server_public": self.keys.server.public,
            "keys": self.keys.client,
        }
        return ControlClient(**(said | about))


@contextmanager
def troupe(plan: RunPlan = PLAN, *, reconnects_within_s: float = math.inf, **settings: Any) -> Iterator[Troupe]:
    """A run whose server is up.

    A played worker has no echo, unless the test gives it one: whoever has none seems dead after `reconnects_within_s`.
    """
    made = Troupe(plan, **settings)
    with mock.patch.object(patience, "_RECONNECTS_WITHIN_S", reconnects_within_s), made.server:
        made.server.launch(made.host)
        yield made


@contextmanager
def worker(of: Troupe, **about: Any) -> Iterator[Played]:
    """A connected worker that has not said anything yet."""
    with of.client(**about) as client:
        yield Played(client)


class Clock:
    """Time that passes when the test says so, for any thread."""

    def __init__(self) -> None:
        self.now_s = 1000.0
        self._lock = threading.Lock()

    def __call__(self) -> float:
        return self.now_s

    def passes(self, seconds: float) -> None:
        with self._lock:
            self.now_s += seconds
