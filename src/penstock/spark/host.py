"""The executor's side: a Spark task that is a worker.

Spark's Python process runs one task after another. For as long as a worker runs, it is nothing else; afterwards it must
be as it was, because the next task may be anybody's.

How it ends:

- The controller says so, or goes silent: the worker closes everything and the task returns one row. Errors are returned
  too, and not raised, because Spark would only repeat them.
- The job is cancelled, or the process crashes: SIGKILL, and nothing of ours runs. Nothing is left behind either: rings
  are memory without a name, sockets are the kernel's to close. Spark starts the task anew after a crash.
- The executor goes: its Python daemon sends SIGHUP to all its processes. The default action, dying at once, is right.

While it runs it yields nothing to Spark, which sites can have taken for idleness and killed
(spark.python.worker.idleTimeoutSeconds with killOnIdleTimeout). Rows in between would not help: Spark counts bytes that
arrive, and they stay in a buffer of 64 KiB until the task ends. So such a session is refused before the start.
"""

from __future__ import annotations

import platform
import socket
import sys
import traceback

import msgspec

from penstock.control.agent import run_worker
from penstock.control.ticket import Outcome, Ticket
from penstock.spark.addresses import worker_address
from penstock.spark.node import node_identity
from penstock.version import __version__

__all__ = ["serve"]


def serve(worker: int, ticket: bytes, driver_version: str) -> Outcome:
    """Is a worker until its end, in a Spark task. Raises nothing that Spark would repeat in vain."""
    if __version__ != driver_version:  # then even the ticket may be another
        text = f"{_place()} has Penstock {__version__}, and the driver {driver_version}: install the same on both"
        return Outcome(worker=worker, ok=False, text=text)
    try:
        given = msgspec.msgpack.decode(ticket, type=Ticket)
        complete = msgspec.structs.replace(
            given, attempt=_attempt(), host=worker_address(given.endpoint), node=node_identity()
        )
    except Exception:  # an executor that cannot tell where it is
        return Outcome(worker=worker, ok=False, text=f"on {_place()}:\n{traceback.format_exc()}")
    return run_worker(complete)


def _attempt() -> int:
    """Numbers all attempts of all tasks of the application, the later the higher."""
    from pyspark import TaskContext

    task = TaskContext.get()
    assert task is not None, "a worker runs inside a Spark task"
    return int(task.taskAttemptId())


def _place() -> str:
    return f"executor {socket.gethostname()} (Python {platform.python_version()}, {sys.executable})"
