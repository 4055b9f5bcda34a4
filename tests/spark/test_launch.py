"""Workers as Spark jobs: that each ends by itself, and that its end is told once."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Iterator
from queue import Empty, SimpleQueue
from typing import Any

import cloudpickle
import pytest

from penstock.control.events import HostEnded, HostFailed
from penstock.control.ticket import Ticket
from penstock.spark.launch import SparkHost, _task
from penstock.transport.links import LinkKeys
from penstock.version import __version__
from tests.ring.patience import PATIENCE_S, wait_until

# Nobody listens there, so a worker waits for its admission until it is ended, or gives up.
NOWHERE = "tcp://127.0.0.1:9"


class Told:
    """What a host told."""

    def __init__(self) -> None:
        self._events: SimpleQueue[HostEnded | HostFailed] = SimpleQueue()
        self.post = self._events.put

    def next(self) -> HostEnded | HostFailed:
        return self._events.get(timeout=PATIENCE_S)

    def anything(self) -> bool:
        return not self._events.empty()

    def nothing_more(self) -> bool:
        try:
            self._events.get_nowait()
        except Empty:
            return True
        return False


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def host(spark: Any, told: Told) -> Iterator[SparkHost]:
    keys = LinkKeys.make()

    def ticket(worker: int, launch: int) -> Ticket:
        return Ticket(
            run="lonely", worker=worker, launch=launch, endpoint=NOWHERE, server_public=keys.public, keys=keys
        )

    host = SparkHost(spark, run="lonely", topology="test", ticket=ticket, post=told.post, hold=print)
    yield host
    host.close(patience_s=0)


def active_jobs(spark: Any) -> int:
    return len(spark.sparkContext.statusTracker().getActiveJobsIds())


def await_jobs(spark: Any, told: Told, count: int) -> None:
    """Until all jobs run. On a busy machine, one may have given up before the last runs."""
    wait_until(lambda: active_jobs(spark) == count or told.anything(), f"{count} jobs run")


def test_one_worker_is_ended_by_force_and_another_stays_until_it_gives_up_and_says_why(
    spark: Any, host: SparkHost, told: Told
) -> None:
    for launch in range(1, 6):
        for worker in (0, 3):
            host.start_worker(worker, launch)
        await_jobs(spark, told, 2)

        host.stop_worker(0, launch)

        errors = {}
        for ended in (told.next(), told.next()):
            assert isinstance(ended, HostEnded)
            assert ended.launch == launch
            errors[ended.worker] = str(ended.error)
        assert errors.keys() == {0, 3}
        assert NOWHERE in errors[3], "nobody met it, and nobody ended it"
        assert told.nothing_more()
        if "CANCELLED" in errors[0]:
            return
        assert NOWHERE in errors[0], "it gave up before it was ended: once more"
    pytest.fail("no worker was ended by force")


def test_a_worker_can_be_ended_before_its_job_was_submitted(spark: Any, host: SparkHost, told: Told) -> None:
    for launch in range(1, 6):
        host.start_worker(0, launch)
        host.stop_worker(0, launch)

    assert sorted(told.next().launch for _ in range(5)) == [1, 2, 3, 4, 5]  # type: ignore[union-attr]
    wait_until(lambda: active_jobs(spark) == 0, "no job is left")
    assert told.nothing_more()


def test_to_end_what_is_over_is_no_error(host: SparkHost, told: Told) -> None:
    host.start_worker(0, 1)
    host.stop_worker(0, 1)
    told.next()

    host.stop_worker(0, 1)
    host.stop_worker(7, 7)

    assert told.nothing_more()


def test_closing_leaves_no_job(spark: Any, host: SparkHost, told: Told) -> None:
    for worker in range(3):
        host.start_worker(worker, 1)
    await_jobs(spark, told, 3)

    host.close(patience_s=0)

    assert sorted(told.next().worker for _ in range(3)) == [0, 1, 2]  # type: ignore[union-attr]
    wait_until(lambda: active_jobs(spark) == 0, "no job is left")


def test_jobs_inherit_what_is_set_where_the_run_was_started(spark: Any, told: Told) -> None:
    keys = LinkKeys.make()
    spark.sparkContext.setJobGroup("my-group", "mine")
    try:
        host = SparkHost(
            spark,
            run="grouped",
            topology="test",
            ticket=lambda worker, launch: Ticket(
                run="grouped", worker=worker, launch=launch, endpoint=NOWHERE, server_public=keys.public, keys=keys
            ),
            post=told.post,
            hold=print,
        )
        host.start_worker(0, 1)
        tracker = spark.sparkContext.statusTracker()
        wait_until(lambda: tracker.getJobIdsForGroup("my-group"), "the job is of the caller's group")
        host.close(patience_s=0)
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
        spark.sparkContext.setLocalProperty("spark.job.description", None)


# ---- what Spark ships

WITHOUT_PENSTOCK = """
import pickle, sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "penstock":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
task = pickle.load(sys.stdin.buffer)
(batch,) = task(iter([]))
print(batch.to_pylist())
assert not any(name.partition(".")[0] == "penstock" for name in sys.modules)
"""


def test_an_executor_without_penstock_says_so() -> None:
    shipped = cloudpickle.dumps(_task(0, b"ticket", __version__))

    asked = subprocess.run([sys.executable, "-c", WITHOUT_PENSTOCK], input=shipped, capture_output=True, check=False)

    assert asked.returncode == 0, asked.stderr.decode()
    (row,) = eval(asked.stdout)
    assert row["ok"] is False
    assert f"Penstock {__version__} cannot be imported on executor" in row["text"]
    assert sys.executable in row["text"]
    assert "ModuleNotFoundError" in row["text"]


def test_what_is_shipped_is_small() -> None:
    assert len(cloudpickle.dumps(_task(0, b"", __version__))) < 10_000


def test_another_version_of_penstock_is_refused_on_the_executor() -> None:
    task = pickle.loads(cloudpickle.dumps(_task(5, b"a ticket of another version", "0.0.1")))

    (batch,) = task(iter([]))

    (row,) = batch.to_pylist()
    assert row["ok"] is False
    assert f"has Penstock {__version__}, and the driver 0.0.1" in row["text"]
