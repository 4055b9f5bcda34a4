"""A handle whose workers are played by the test: a real controller behind it, and no Spark."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, Self

import msgspec
import pytest

from penstock.control.instructions import Fail, Finish
from penstock.control.metrics import RunMetrics, TaskCounts
from penstock.control.protocol import AskStop, Collected, Fatal, Report, TaskFailure
from penstock.control.status import RunStatus
from penstock.spark.summary import Summary
from penstock.topology.topology import Topology
from tests.control.stage import Stage

ROWS = [["the", 3], ["[bold]fox[/bold]", 1], [":smile:", 2]]


class StagedRun:
    """Over when it was waited for a few times. `turn` may do something else at each."""

    def __init__(self, topology: Topology, *, turns: int = 2, turn: Callable[[StagedRun], None] | None = None) -> None:
        self.topology = topology
        self.stage = Stage()
        self.was_left = False
        self._turns = turns
        self._turn = turn
        self._connections = self.stage.runs()

    def works(self) -> None:
        """Workers tell what they did."""
        first = self._connections[0]
        counts = (TaskCounts(task=0, processed=1234, emitted=1234), TaskCounts(task=3, processed=999, failed=1))
        self.stage.says(first, Report(at_ns=1, tasks=counts))
        self.stage.says(first, Collected(task=0, component="last", count=len(ROWS), rows=msgspec.msgpack.encode(ROWS)))
        trace = "Traceback (most recent call last):\n  words[0]\nValueError: [/] is no word\n"
        self.stage.says(
            first,
            TaskFailure(component="count", task=3, kind="ValueError", message="[/] is no word", traceback=trace),
        )

    def fails(self) -> None:
        """A worker cannot go on."""
        self.stage.says(self._connections[0], Fatal(traceback="Traceback:\nKeyError: key [/b] is not there"))
        self.stage.all_leave(self._connections)

    # ---- as penstock.spark.handle.Run

    def status(self) -> RunStatus:
        return self.stage.controller.status(self.stage.now_s)

    def metrics(self) -> RunMetrics:
        return self.stage.controller.metrics(self.stage.now_s)

    def wait(self, timeout_s: float | None = None) -> Summary | None:  # noqa: ARG002
        if self._turn is not None:
            self._turn(self)
        self._turns -= 1
        if self._turns <= 0 and not self.stage.is_over():
            self.stage.all_end(self._connections)
            self.stage.all_leave(self._connections)
        return self.summary() if self.stage.is_over() else None

    def stop(self) -> Summary:
        self.stage.says(b"visitor", AskStop())
        self.stage.all_leave(self._connections)
        return self.summary()

    def summary(self) -> Summary:
        (end,) = (said for said in self.stage.said if isinstance(said, Finish | Fail))
        if isinstance(end, Fail):
            raise end.error
        return Summary(self.topology, end.summary)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.was_left = True


class Theatre:
    """What the command line asked of Spark, and the runs that it got."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **about: Any) -> None:
        self.sessions: list[dict[str, Any]] = []
        self.starts: list[dict[str, Any]] = []
        self.runs: list[StagedRun] = []
        self._about = about
        monkeypatch.setattr("penstock.cli.main.borrowed_session", self._session)
        monkeypatch.setattr("penstock.cli.main.start", self._start)

    @contextlib.contextmanager
    def _session(self, **asked: Any) -> Iterator[str]:
        self.sessions.append(asked)
        yield "the session"

    def _start(self, topology: Topology, **asked: Any) -> StagedRun:
        self.starts.append(asked)
        self.runs.append(StagedRun(topology, **self._about))
        return self.runs[-1]
