"""What the tests do with a session, wherever it is. Each takes a session and returns plain values.

They run in the process of the test, or in that of a driver of a cluster (see remote_driver).
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from penstock.connectors.spark_stream import SparkStream
from penstock.errors import RunError
from penstock.spark.doctor import diagnose
from penstock.spark.run import Run, run, start
from penstock.spark.slots import count_slots
from penstock.spark.transform import transform
from penstock.topology.topology import Topology
from tests.endless import End, Numbers
from tests.ring.patience import wait_until
from tests.spark import topologies, transforms
from tests.spark.counted import epochs
from tests.spark.stream_driver import copying


def word_count(spark: Any, *, workers: int, times: int) -> dict[str, Any]:
    summary = run(topologies.word_count(times), workers=workers, spark=spark)
    return {
        "counts": {row.word: row.count for row in summary.collected("totals")},
        "phase": summary.status.phase,
        "processed": {part.name: part.processed for part in summary.metrics.components},
        "lost": summary.metrics.lost,
        "workers": len(summary.status.workers),
    }


def transformed(spark: Any, *, workers: int, count: int) -> dict[str, int]:
    lines = spark.range(0, count, 1, workers + 1).selectExpr("concat('the ', id % 7, ' end') AS line")
    topo = transforms.word_count(tasks=workers)
    out = transform(topo, {"lines": lines}, output="count", schema="word string, count long", workers=workers)
    return {row.word: row["count"] for row in out.collect()}


def transformed_raising(spark: Any, *, folder: Path, how: str, workers: int) -> tuple[str, list[int]]:
    """What is said of an evaluation in which user code raises, and the rows of the next, in which it does not."""
    topo = transforms.one_bolt(transforms.Raising(folder, how), tasks=workers)
    out = transform(topo, {"ids": spark.range(0, 100, 1, 3)}, output="bolt", schema="id long", workers=workers)
    try:
        out.collect()
    except Exception as error:
        said = str(error)
    else:
        said = ""
    (folder / "cure").touch()
    again = out.select("id")  # Spark remembers of the same DataFrame that it has failed, and does not try
    return said, sorted(row.id for row in again.collect())


def transformed_twice(spark: Any, *, marker: Path, executor: bool, count: int) -> tuple[int, int, bool]:
    """How many rows come out, and how many different ones, when a worker or its executor is killed in the middle."""
    topo = transforms.one_bolt(transforms.KilledOnce(marker, at=count // 2, executor=executor))
    out = transform(topo, {"ids": spark.range(0, count, 1, 3)}, output="bolt", schema="id long", workers=3)
    ids = [row.id for row in out.collect()]
    return len(ids), len(set(ids)), marker.exists()


def streamed(spark: Any, *, folder: Path, count: int) -> tuple[list[int], int]:
    """What a query over a running topology has copied, and how many rows a batch read finds that were not taken."""
    topo = Topology("streamed")
    numbers = topo.spout("numbers", Numbers(count))
    for name in ("taken", "left"):
        topo.bolt(name, SparkStream(folder / name, schema="n long"), numbers.shuffle())
    with start(topo, workers=2, spark=spark, checkpoint=folder / "checkpoint", epoch_every_s=0.2) as running:
        rows = spark.readStream.format("penstock").option("run", running.id).option("stream", "taken").load()
        query = copying(rows, folder)
        running.wait()
    query.process_all()
    query.stop()
    left = spark.read.format("penstock").load(str(folder / "left")).count()
    return sorted(row.n for row in spark.read.parquet(str(folder / "out")).collect()), left


def testimony(spark: Any, *, workers: int) -> list[dict[str, Any]]:
    summary = run(topologies.witnesses(workers * 2), workers=workers, spark=spark)
    rows = summary.collected("testimony")
    return [{"worker": row.worker, "node": row.node, "rings": row.rings, "peers": row.peers} for row in rows]


def user_errors(spark: Any, *, count: int) -> dict[str, Any]:
    summary = run(topologies.fussy(count), workers=2, spark=spark)
    return {
        "passed": sorted(row.seq for row in summary.collected("passed")),
        "failures": [
            {"component": failure.component, "count": failure.count, "traceback": failure.traceback}
            for failure in summary.metrics.failures
        ],
    }


def start_error(spark: Any) -> dict[str, str]:
    try:
        run(topologies.reluctant(), workers=2, spark=spark)
    except RunError as error:
        return {"kind": type(error).__name__, "text": str(error)}
    return {}


def drained(spark: Any) -> dict[str, Any]:
    with start(topologies.endless(), workers=2, spark=spark) as running:
        await_flow(running)
        summary = running.drain()
    numbers = sorted(row.seq for row in summary.collected("last"))
    return {"phase": summary.status.phase, "complete": numbers == list(range(len(numbers))), "count": len(numbers)}


def killed(spark: Any) -> dict[str, Any]:
    """A worker is killed while tuples flow; another takes its place, and the run goes on."""
    with start(topologies.endless(), workers=3, spark=spark) as running:
        await_flow(running)
        before = pids(running)
        os.kill(before[1], signal.SIGKILL)
        wait_until(lambda: running.status().restarts >= 1, "the worker has come back")
        wait_until(
            lambda: all(worker.state == "begun" for worker in running.status().workers), "all workers are at work"
        )
        after = pids(running)
        await_flow(running)
        summary = running.drain()
    numbers = {row.seq for row in summary.collected("last")}
    return {
        "phase": summary.status.phase,
        "restarts": summary.status.restarts,
        "others_stayed": (before[0], before[2]) == (after[0], after[2]),
        "replaced": before[1] != after[1],
        "dead": not is_there(before[1]),
        "missing": set(range(max(numbers))) - numbers,
    }


def killed_word_count(spark: Any, *, folder: Path, workers: int, more: int) -> dict[str, Any]:
    """Words are counted exactly once, and a worker is killed in the middle. So many more lines come after that."""
    end = End(folder)
    topo = topologies.word_count(end)
    checkpoint = folder / "checkpoint"
    with start(topo, workers=workers, spark=spark, checkpoint=checkpoint, epoch_every_s=0.2) as running:
        wait_until(lambda: epochs(checkpoint) == "committed", "an epoch is committed")
        os.kill(pids(running)[1], signal.SIGKILL)
        wait_until(lambda: running.status().restarts > 0, "the worker has come back")
        end.tell(more=more)
        running.wait()
        summary = running.summary()
    return {
        "counts": {row.word: row.count for row in summary.collected("totals")},
        "right": topologies.counted_words([topologies.sentence(number) for number in range(end.count)]),
        "phase": summary.status.phase,
        "restarts": summary.status.restarts,
    }


def containers(spark: Any, *, workers: int) -> dict[int, tuple[str, str]]:
    """The container of YARN that each worker is in, and its NodeManager."""
    rows = run(topologies.contained(workers), workers=workers, spark=spark).collected("containers")
    return {row.worker: (row.container, row.node_manager) for row in rows}


def two_at_once(spark: Any, *, times: int) -> dict[str, Any]:
    with start(topologies.endless(), workers=2, spark=spark) as other:
        await_flow(other)
        counts = word_count(spark, workers=2, times=times)
        still = other.status().phase
        await_flow(other)
    return {"counts": counts["counts"], "other": still}


def hung(spark: Any) -> dict[str, Any]:
    """A worker that does not answer any more is killed when its run ends."""
    with start(topologies.endless(), workers=2, spark=spark, detection_s=0.5, stop_timeout_s=0.5) as running:
        await_flow(running)
        victim = pids(running)[1]
        os.kill(victim, signal.SIGSTOP)
    wait_until(lambda: not is_there(victim), "the worker that hung is gone")
    return {"phase": running.status().phase, "gone": True}


def slots(spark: Any) -> tuple[int | None, int | None]:
    counted = count_slots(spark)
    return counted.now, counted.most


def await_slots(spark: Any, *, count: int) -> None:
    wait_until(lambda: count_slots(spark).now == count, f"all executors have come, with {count} slots")


def too_few_slots(spark: Any, *, workers: int) -> dict[str, str]:
    """How many slots a cluster can have is not known before, so the run waits for workers, in vain."""
    try:
        run(topologies.word_count(1), workers=workers, spark=spark, start_timeout_s=45.0, detection_s=10.0)
    except RunError as error:
        return {"kind": type(error).__name__, "text": str(error)}
    return {}


def preflight(spark: Any) -> list[tuple[str, str]]:
    return [(finding.level, finding.what) for finding in diagnose(spark, workers=4)]


def leftovers(spark: Any, *, tasks: int) -> set[str]:
    """What runs left behind in the Python processes that hosted them, which Spark keeps for the next task."""

    def look(batches: Any) -> Any:  # ships whole, because an executor does not have the tests
        import contextlib
        import threading
        import time
        from pathlib import Path

        import pyarrow as pa

        for _ in batches:
            pass
        found = [f"thread {thread.name}" for thread in threading.enumerate() if thread is not threading.main_thread()]
        maps = Path("/proc/self/maps").read_text().splitlines()
        found += [f"mapping {line}" for line in maps if "/memfd:" in line]
        for entry in Path("/proc/self/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):  # that of the listing itself
                if "/memfd:" in str(entry.readlink()):
                    found.append(f"descriptor {entry.readlink()}")
        time.sleep(0.2)  # so that the next task goes to another process
        yield pa.RecordBatch.from_pydict({"left": found}, schema=pa.schema({"left": pa.string()}))

    rows = spark.range(0, tasks, 1, tasks).mapInArrow(look, "left string").collect()
    return {row.left for row in rows}


def await_flow(running: Run) -> None:
    """Returns when new tuples have reached the end."""
    before = _arrived(running)
    wait_until(lambda: _arrived(running) > before, "tuples arrive at the end")


def _arrived(running: Run) -> int:
    """At the ends, whichever gets most: one may get nothing before the run is over."""
    return max(component.processed for component in running.metrics().components if not component.emitted)


def pids(running: Run) -> dict[int, int]:
    return {worker.worker: worker.pid for worker in running.status().workers if worker.pid is not None}


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
