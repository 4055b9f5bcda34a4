"""A run that the command line can find: a real controller behind real sockets, and a file that tells where."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import msgspec

from penstock.control.metrics import TaskCounts
from penstock.control.protocol import Deploy, Ready, Report
from penstock.control.registry import RunDirectory, RunFile
from penstock.control.settings import RunPlan
from penstock.control.status import Phase
from tests.control.stage import PLAN, register
from tests.control.troupe import Played, Troupe, troupe, worker
from tests.ring.patience import wait_until


@contextlib.contextmanager
def published(
    run: str = "run-1", topology: str = "wordcount", *, plan: RunPlan = PLAN, load_store: str | None = None
) -> Iterator[Troupe]:
    """A run of one worker that has not come yet."""
    with troupe(plan) as played:
        directory = RunDirectory.default()
        directory.publish(msgspec.structs.replace(file_of(played, run, topology), load_store=load_store))
        try:
            yield played
        finally:
            directory.withdraw(run)


def file_of(played: Troupe, run: str, topology: str = "wordcount") -> RunFile:
    return RunFile(
        run=run,
        topology=topology,
        endpoint=played.server.endpoint,
        server_public=played.keys.server.public,
        keys=played.keys.client,
        started_at="2026-01-01T00:00:00Z",
    )


@contextlib.contextmanager
def working(run: Troupe) -> Iterator[Played]:
    """Its worker, which has come, begun, and told what it did."""
    with worker(run) as played:
        played.client.send(register(0))
        told = played.hears(Deploy)
        played.client.send(Ready(assignment=told.assignment.number))
        wait_until(lambda: run.server.status().phase is Phase.RUNNING, "the run has begun")
        counts = (TaskCounts(task=0, processed=4321, emitted=4321), TaskCounts(task=3, processed=7, backlog=5))
        played.client.send(Report(at_ns=1, tasks=counts))
        wait_until(lambda: run.server.metrics().tasks[0].processed, "the report has come")
        yield played
