"""Epochs: when markers are sent, and where spouts would go on. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable

from penstock.worker.resume import SpoutProgress

__all__ = ["Epochs"]

_FIRST_PAUSE_S = 0.02
"""Between markers that somebody waits for. It doubles, so that a slow topology is not flooded with them."""


class Epochs:
    """Numbers the epochs of a run, and remembers how far its spouts have come."""

    def __init__(self, *, every_s: float) -> None:
        self._every_s = every_s
        self._begun_at_s: float | None = None
        self._pause_s = _FIRST_PAUSE_S
        self.newest = 0
        """The epoch that was begun last; 0 if none was."""
        self._progress: dict[int, SpoutProgress] = {}

    def due(self, now_s: float, *, awaited: bool = False) -> int | None:
        """The number of the epoch that begins now, if one does. The first is due a while after the first call.

        If it is `awaited`, it begins soon; and as long as that has not helped, others follow, with longer pauses.
        """
        if self._begun_at_s is None:
            self._begun_at_s = now_s
        self._pause_s = min(self._pause_s, self._every_s) if awaited else _FIRST_PAUSE_S
        if now_s < self._begun_at_s + (self._pause_s if awaited else self._every_s):
            return None
        self._begun_at_s = now_s
        self._pause_s *= 2
        self.newest += 1
        return self.newest

    def hurry(self) -> None:
        """The next epoch is due at once."""
        self._begun_at_s = -math.inf

    def heard(self, spouts: Iterable[SpoutProgress]) -> None:
        """How far spouts have come."""
        self._progress.update((spout.task, spout) for spout in spouts)

    def progress_of(self, tasks: Iterable[int]) -> tuple[SpoutProgress, ...]:
        """Where these tasks go on, as far as that is known."""
        return tuple(self._progress[task] for task in tasks if task in self._progress)
