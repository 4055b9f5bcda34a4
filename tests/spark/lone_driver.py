"""Drivers that start their own Spark, as a user's script does: `python -m tests.spark.lone_driver WHAT FOLDER`.

Each prints one line of JSON when it has something to say.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

from pyspark import SparkContext

from penstock.errors import RunError
from penstock.spark.run import Run, run, start
from penstock.spark.session import active_session
from tests.spark import topologies
from tests.spark.scenarios import await_flow, pids


def say(**what: Any) -> None:
    print(json.dumps(what), flush=True)


def embedded(folder: Path) -> None:
    """Runs in local sessions of their own: one, two at once, one that loses its session, and one that is left alone."""
    summary = run(topologies.word_count(20), workers=2)
    first = {row.word: row.count for row in summary.collected("totals")}
    gone = active_session() is None
    with start(topologies.endless(), workers=1) as outer, start(topologies.word_count(20), workers=2) as inner:
        outer.stop()
        inner.wait()
        second = {row.word: row.count for row in inner.summary().collected("totals")}
    say(first=first, second=second, gone=[gone, active_session() is None])
    say(**bereft())
    running = start(topologies.endless(notes=folder), workers=2)
    await_flow(running)
    say(pids=sorted(pids(running).values()))


def bereft() -> dict[str, Any]:
    """The session is stopped under a run."""
    running = start(topologies.endless(), workers=2)
    await_flow(running)
    session = active_session()
    assert session is not None
    session.stop()
    try:
        running.wait()
    except RunError as error:
        return {"error": str(error), "threads": [thread.name for thread in threading.enumerate()]}
    return {}


def forked(folder: Path) -> None:
    """A run whose driver is forked; the child ends as a program does, and the run goes on."""
    running = start(topologies.endless(notes=folder), workers=2)
    await_flow(running)
    child = os.fork()
    if not child:
        sys.exit(3)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    phase, restarts = running.status().phase, running.status().restarts
    say(code=code, phase=phase, restarts=restarts, left=[file.name for file in folder.iterdir()])
    running.stop()


def crashed(folder: Path) -> None:
    """The JVM is killed under a run, as a system does that is out of memory."""
    running = start(topologies.endless(notes=folder), workers=2)
    await_flow(running)
    jvm: Any = SparkContext._gateway
    jvm.proc.kill()
    try:
        running.wait()
    except RunError as error:
        say(error=str(error), phase=running.status().phase)


def endless(folder: Path) -> None:
    """A run that is waited for; tells the pids of its workers when tuples flow."""
    told: list[bool] = []

    def progress(running: Run) -> None:
        if not told and running.metrics().components[-1].processed:
            told.append(True)
            say(pids=sorted(pids(running).values()))

    run(topologies.endless(notes=folder), workers=2, progress=progress)


if __name__ == "__main__":
    {"embedded": embedded, "forked": forked, "crashed": crashed, "endless": endless}[sys.argv[1]](Path(sys.argv[2]))
