"""The driver's side: each worker is a Spark job of its own, so that one can be started or ended without the others.

A job has one task, and a thread here that waits for its one row. The closure that Spark ships holds the ticket and next
to nothing else: the topology goes over the control channel, and everything else is imported on the executor.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.control.events import HostEnded, HostFailed
from penstock.control.ticket import Ticket
from penstock.spark.session import is_alive, is_connect
from penstock.spark.spark_errors import remote_error
from penstock.version import __version__

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

__all__ = ["SparkHost"]

log = logging.getLogger(__name__)

# A cancellation finds only what has been submitted, so it is repeated until the job is gone.
_CANCEL_EVERY_S = 0.5
_CANCEL_PATIENCE_S = 30.0

_OUTCOME_SCHEMA = "ok boolean, text string"


class _Job:
    """One launch of one worker."""

    def __init__(self, run: str, worker: int, launch: int) -> None:
        self.worker = worker
        self.launch = launch
        self.tag = f"penstock-{run}-{worker}-{launch}"
        self.ending = False
        """Whether it is to end by force."""
        self.over = threading.Event()


class SparkHost:
    """Starts and ends the workers of one run as Spark jobs (a `penstock.control.host.Host`).

    Args:
        spark: the session, classic or Connect.
        run: names the run in the tags of its jobs.
        topology: names it in Spark's own pages.
        ticket: makes the ticket for a worker and a launch.
        post: told what became of a job.
        hold: told how many slots the workers hold, when that has changed.
    """

    def __init__(
        self,
        spark: SparkSession,
        *,
        run: str,
        topology: str,
        ticket: Callable[[int, int], Ticket],
        post: Callable[[HostEnded | HostFailed], object],
        hold: Callable[[int], object],
    ) -> None:
        self._spark = spark
        self._run = run
        self._topology = topology
        self._ticket = ticket
        self._post = post
        self._hold = hold
        self._lock = threading.Lock()
        self._jobs: dict[tuple[int, int], _Job] = {}
        self._wanted: SimpleQueue[_Job | None] = SimpleQueue()
        self._submitter = self._inheriting_thread(self._submit, f"penstock-{run}-submit")
        self._submitter.start()

    def start_worker(self, worker: int, launch: int) -> None:
        """Submits a job, in a thread of its own."""
        job = _Job(self._run, worker, launch)
        with self._lock:
            self._jobs[worker, launch] = job
        self._wanted.put(job)

    def stop_worker(self, worker: int, launch: int) -> None:
        """Cancels a job: its process is killed."""
        with self._lock:
            job = self._jobs.get((worker, launch))
            if job is None or job.ending:
                return
            job.ending = True
        threading.Thread(target=self._end, args=(job,), name=f"{job.tag}-end", daemon=True).start()

    def hold_slots(self, count: int) -> None:
        """Tells how many slots the workers hold."""
        self._hold(count)

    def close(self, *, patience_s: float = 5.0) -> None:
        """Waits until all jobs are over; those that take longer than `patience_s` are cancelled."""
        self._wanted.put(None)
        self._submitter.join()
        self._await_all(patience_s)
        # Not by `stop_worker`, because a process that ends cannot start a thread any more.
        for _ in range(round(_CANCEL_PATIENCE_S / _CANCEL_EVERY_S)):
            for job in self._running():
                job.ending = True
                self._cancel(job)
            self._await_all(_CANCEL_EVERY_S)
        for job in self._running():
            log.warning("the Spark job with tag %s was cancelled, and does not end", job.tag)

    def _running(self) -> list[_Job]:
        with self._lock:
            return list(self._jobs.values())

    def _await_all(self, timeout_s: float) -> None:
        deadline_s = time.monotonic() + timeout_s
        for job in self._running():
            job.over.wait(max(0.0, deadline_s - time.monotonic()))

    def _inheriting_thread(self, target: Callable[..., None], name: str, *args: Any) -> threading.Thread:
        """A thread with the scheduler pool, job group and tags of this one."""
        from penstock.spark.spark_version import inheriting

        # What it inherits is copied here. A target that was wrapped once must not be started twice: both threads would
        # share the copy, and so each other's tags, and to cancel one would be to cancel both.
        return threading.Thread(target=inheriting(self._spark, target), args=args, name=name, daemon=True)

    def _submit(self) -> None:
        """What the submitter does. It was made by the caller's thread, so that jobs inherit what is set there."""
        for job in iter(self._wanted.get, None):
            try:
                self._inheriting_thread(self._host, f"{job.tag}-job", job).start()
            except Exception as failure:
                self._over(job, failure)

    def _host(self, job: _Job) -> None:
        """What the thread of a job does: submits it, waits for its end, and tells of it."""
        try:
            error = None if job.ending else self._run_job(job)
        except Exception as failure:
            self._over(job, failure)
        else:
            self._over(job, error)

    def _over(self, job: _Job, error: Exception | str | None) -> None:
        if isinstance(error, Exception):
            if not job.ending and not is_alive(self._spark):
                self._post(HostFailed(error=remote_error(error)))
            error = remote_error(error)
        with self._lock:
            del self._jobs[job.worker, job.launch]
        self._post(HostEnded(worker=job.worker, launch=job.launch, error=error))
        job.over.set()

    def _run_job(self, job: _Job) -> str | None:
        """Runs a job to its end. Returns what the worker said was wrong; raises if the job itself failed."""
        self._mark(job.tag, f"worker {job.worker} of topology {self._topology}, run {self._run}")
        ticket = msgspec.msgpack.encode(self._ticket(job.worker, job.launch))
        task = _task(job.worker, ticket, __version__)
        # One partition, said so: by default a range has as many as there are cores.
        rows = self._spark.range(0, 1, 1, 1).mapInArrow(task, _OUTCOME_SCHEMA).collect()
        outcome = rows[0]
        return None if outcome.ok else str(outcome.text)

    def _mark(self, tag: str, description: str) -> None:
        if is_connect(self._spark):
            self._spark.addTag(tag)
        else:
            # A classic session knows only those of its tags that were added in the thread that asks. The context knows
            # all of them.
            self._spark.sparkContext.addJobTag(tag)
            self._spark.sparkContext.setJobDescription(description)

    def _end(self, job: _Job) -> None:
        while not job.over.is_set():
            self._cancel(job)
            job.over.wait(_CANCEL_EVERY_S)

    def _cancel(self, job: _Job) -> None:
        with contextlib.suppress(Exception):  # if the session is gone, so is the job
            if is_connect(self._spark):
                self._spark.interruptTag(job.tag)
            else:
                self._spark.sparkContext.cancelJobsWithTag(job.tag)


def _task(worker: int, ticket: bytes, version: str) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What Spark runs on the executor.

    A function inside a function is shipped by value. It must refer to nothing of ours outside of itself, so that it can
    be opened where Penstock is not installed, and say so.
    """

    def host(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for _ in batches:  # there is one row, and Spark wants it taken
            pass
        try:
            from penstock.spark.host import serve
        except ImportError:
            import platform
            import socket
            import sys
            import traceback

            ok = False
            text = (
                f"Penstock {version} cannot be imported on executor {socket.gethostname()} (Python "
                f"{platform.python_version()}, {sys.executable}). Install it there, or ship the driver's environment "
                f"with spark.archives and point PYSPARK_PYTHON into it.\n{traceback.format_exc()}"
            )
        else:
            outcome = serve(worker, ticket, version)
            ok, text = outcome.ok, outcome.text
        yield pa.RecordBatch.from_pydict({"ok": [ok], "text": [text]})

    return host
