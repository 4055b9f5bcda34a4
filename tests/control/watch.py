"""How much memory the workers of a run take, and how much waits for its tasks, looked at all the time."""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from penstock.control.metrics import RunMetrics
from penstock.control.status import RunStatus

LOOK_EVERY_S = 0.1
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class Watched(Protocol):
    """A run, on Spark or without."""

    def status(self) -> RunStatus:
        """Who takes part."""

    def metrics(self) -> RunMetrics:
        """What waits for whom."""


class Watch:
    """From when it is entered until it is left."""

    def __init__(self, run: Watched) -> None:
        self._run = run
        self._first: dict[int, int] = {}
        self._most: dict[int, int] = {}
        self.longest: defaultdict[str, int] = defaultdict(int)
        """The longest queue of each task."""
        self.looks = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look_again_and_again, name="watch")

    def __enter__(self) -> Self:
        self._look()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def growth_bytes(self) -> dict[int, int]:
        """By how much each process was larger, at worst, than when it was first seen at work."""
        return {pid: self._most[pid] - self._first[pid] for pid in self._first}

    def _look_again_and_again(self) -> None:
        while not self._over.wait(LOOK_EVERY_S):
            self._look()

    def _look(self) -> None:
        for worker in self._run.status().workers:
            if worker.pid is not None and worker.state in ("begun", "silent"):
                resident = _resident_bytes(worker.pid)
                if resident is not None:
                    self._first.setdefault(worker.pid, resident)
                    self._most[worker.pid] = max(self._most.get(worker.pid, 0), resident)
        for task in self._run.metrics().tasks:
            label = f"{task.component}[{task.index}]"
            self.longest[label] = max(self.longest[label], task.backlog)
        self.looks += 1


def _resident_bytes(pid: int) -> int | None:
    """What it has in memory, the rings that it shares included; None if it is gone."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE_BYTES
    except (FileNotFoundError, ProcessLookupError):
        return None
