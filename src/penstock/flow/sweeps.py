"""Which markers have passed everywhere. Pure.

A marker that has passed every task of every worker has swept everything before it out of the topology: what is not
done by then never will be. That is how losses are found, and no clock is needed for it: a marker that waits in a long
queue waits as long as the tuples before it do.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["Sweeps"]


class Sweeps:
    """Collects, from all workers, the newest epoch whose marker has passed all their tasks.

    A worker that has passed a marker has passed, or never had, all that was sent before it; so a newer one speaks for
    the older ones.
    """

    def __init__(self, workers: Iterable[int]) -> None:
        self._newest = dict.fromkeys(workers, 0)
        self.everywhere = 0
        """The newest epoch whose marker has passed everywhere."""

    def passed(self, worker: int, epoch: int) -> int | None:
        """A worker has passed a marker. Returns the newest epoch that has passed everywhere, if that is a new one."""
        if worker in self._newest:
            self._newest[worker] = max(epoch, self._newest[worker])
        return self._advance()

    def restarted(self, worker: int) -> None:
        """Another process is this worker now, and has passed nothing."""
        if worker in self._newest:
            self._newest[worker] = 0

    def gone(self, worker: int) -> int | None:
        """A worker without tasks has left, and is not waited for. Returns what `passed` does."""
        self._newest.pop(worker, None)
        return self._advance()

    def _advance(self) -> int | None:
        everywhere = min(self._newest.values(), default=0)
        if everywhere <= self.everywhere:
            return None
        self.everywhere = everywhere
        return everywhere
