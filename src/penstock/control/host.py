"""What the controller needs of whoever starts processes: Spark, or a test."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Host"]


class Host(Protocol):
    """Starts and ends workers. Called by the server's thread: returns at once, and tells the outcome by an event.

    For every launch that was started, `HostEnded` is posted exactly once: when no process of it is left and none will
    come, however it ended.
    """

    def start_worker(self, worker: int, launch: int) -> None:
        """Starts a worker, whose processes register with this launch number."""
        ...

    def stop_worker(self, worker: int, launch: int) -> None:
        """Ends a launch by force. Of one that is over already, nothing is left to do."""
        ...

    def hold_slots(self, count: int) -> None:
        """So many slots are its workers' from now on, for the arithmetic of other runs."""
        ...
