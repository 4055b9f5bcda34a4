"""Epochs: when markers are sent, and where spouts would go on. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.worker.resume import SpoutProgress

__all__ = ["Epochs"]


class Epochs:
    """Numbers the epochs of a run, and remembers how far its spouts have come."""

    def __init__(self, *, every_s: float) -> None:
        self._every_s = every_s
        self._next_at_s: float | None = None
        self._newest = 0
        self._progress: dict[int, SpoutProgress] = {}

    def due(self, now_s: float) -> int | None:
        """The number of the epoch that begins now, if one does. The first is due a while after the first call."""
        if self._next_at_s is None:
            self._next_at_s = now_s + self._every_s
        if now_s < self._next_at_s:
            return None
        self._next_at_s = now_s + self._every_s
        self._newest += 1
        return self._newest

    def heard(self, spouts: Iterable[SpoutProgress]) -> None:
        """How far spouts have come."""
        self._progress.update((spout.task, spout) for spout in spouts)

    def progress_of(self, tasks: Iterable[int]) -> tuple[SpoutProgress, ...]:
        """Where these tasks go on, as far as that is known."""
        return tuple(self._progress[task] for task in tasks if task in self._progress)
