"""What a worker is given when it is started: where the controller is, and the keys that let it in."""

from __future__ import annotations

import msgspec

from penstock.transport.links import LinkKeys
from penstock.worker.settings import WorkerSettings

__all__ = ["Outcome", "Ticket"]


class Ticket(msgspec.Struct, frozen=True, kw_only=True):
    """Travels inside the Spark task, and nowhere else: it holds secret keys."""

    run: str
    worker: int
    launch: int
    """Which start of this worker by the host."""
    attempt: int = 0
    """Which attempt within that launch; set on the executor."""
    endpoint: str
    """Where the controller listens."""
    server_public: bytes
    keys: LinkKeys
    """The run's own: for the controller and for links between nodes alike."""
    host: str = "127.0.0.1"
    """The address that other nodes reach this worker at; set on the executor."""
    node: str = ""
    """Workers with the same node try to share memory; set on the executor."""
    settings: WorkerSettings = WorkerSettings()


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a worker ended. It travels back as the Spark task's only row."""

    worker: int
    ok: bool
    text: str = ""
    """A reason, or a traceback."""
