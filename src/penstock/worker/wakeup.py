"""Where a worker sleeps, and who wakes it.

A worker sleeps in one place, at its inbox. Frames wake it there; whoever wants it without sending a frame rings the
inbox's bell and says why.
"""

from __future__ import annotations

from enum import IntFlag
from typing import Any, Protocol

from penstock._native import FastPath, Record
from penstock.topology.context import wake_nobody

__all__ = ["READ_AT_MOST", "Inbox", "Waker", "Wakeup"]

READ_AT_MOST = 256


class Wakeup(IntFlag):
    """Why somebody has rung a worker's bell."""

    CONTROL = 1
    """The controller may have said something."""
    PEER = 2
    """The process of a peer on this node may be gone."""
    SPOUT = 4
    """A spout may have something: see `TaskContext.wake`."""
    NEWS = 8
    """A thread beside the loop is done with something."""


class Inbox(Protocol):
    """Where frames from other workers arrive: a ring, or a test's stand-in."""

    def read_fast(
        self, fast_path: FastPath, max_records: int = READ_AT_MOST, timeout_s: float | None = None
    ) -> list[Record]:
        """What has arrived, less what the fast path has worked on: a prefix, never a gap.

        Waits at most `timeout_s` for the first that it cannot work on, or until somebody rings the bell.
        """

    def ring_bell(self, bits: int) -> None:
        """Wakes who reads here, from any thread: see Wakeup."""


class Waker:
    """Rings a worker's bell for one reason. It belongs to its worker: a copy wakes the same, and it does not travel."""

    def __init__(self, inbox: Inbox, why: Wakeup) -> None:
        self._inbox = inbox
        self._why = why

    def __call__(self) -> None:
        """Wakes the worker, from any thread."""
        self._inbox.ring_bell(self._why)

    def __deepcopy__(self, memo: dict[int, Any]) -> Waker:
        return self

    def __reduce__(self) -> str | tuple[Any, ...]:
        return _nobodys, ()


def _nobodys() -> Any:
    return wake_nobody
