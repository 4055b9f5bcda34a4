"""What is promised, on real Spark, with real kills."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from penstock.connectors.collect import Collect
from penstock.errors import CheckpointError, TopologyError
from penstock.spark.run import Run, run, start
from penstock.topology.topology import Topology
from tests.ring.patience import wait_until
from tests.spark import counted
from tests.spark.scenarios import await_flow, pids
from tests.worker.scatter_gather import scattered, told

EPOCH_S = 0.2


def await_restarts(running: Run, count: int) -> None:
    wait_until(lambda: running.status().restarts >= count, "the worker has come back")


def test_at_least_once_nothing_is_missing_when_workers_are_killed(spark: Any, tmp_path: Path) -> None:
    topo = counted.topology(tmp_path / "end")
    with start(topo, workers=3, spark=spark, epoch_every_s=EPOCH_S) as running:
        for victim in (1, 2):
            await_flow(running)
            os.kill(pids(running)[victim], signal.SIGKILL)
            await_restarts(running, victim)
        (tmp_path / "end").write_text("50000")
        running.wait()
        summary = running.summary()
    numbers = Counter(row.n for row in summary.collected("seen"))
    assert set(numbers) == set(range(50_000))


def test_at_least_once_every_question_is_answered_by_all_when_a_worker_is_killed(spark: Any, tmp_path: Path) -> None:
    topo, answers = scattered(questions=counted.NumbersUntilTold(tmp_path / "end"))
    topo.bolt("all", Collect(), topo.bolt("told", told, answers, tasks=2, fields=("question", "by")).shuffle())
    with start(topo, workers=3, spark=spark, epoch_every_s=EPOCH_S) as running:
        await_flow(running)
        os.kill(pids(running)[1], signal.SIGKILL)
        await_restarts(running, 1)
        (tmp_path / "end").write_text("30000")
        running.wait()
        summary = running.summary()
    assert {row.question for row in summary.collected("all")} == {*range(30_000)}
    assert all(row.by == [0, 1, 2] for row in summary.collected("all"))


@pytest.mark.parametrize("kills", [0, 2])
def test_exactly_once_the_results_are_exact(spark: Any, tmp_path: Path, kills: int) -> None:
    # It goes on until it is told where to end: one that had ended would need nobody back.
    topo = counted.topology(tmp_path / "end", files=tmp_path / "out")
    with start(
        topo, workers=3, spark=spark, checkpoint=tmp_path / "checkpoint", max_restarts=20, epoch_every_s=EPOCH_S
    ) as running:
        for victim in range(kills):
            wait_until(lambda: "committed" in counted.epochs(tmp_path / "checkpoint"), "an epoch is committed")
            wait_until(lambda: all(worker.pid for worker in running.status().workers), "all workers are there")
            os.kill(pids(running)[victim], signal.SIGKILL)
            await_restarts(running, victim + 1)
        (tmp_path / "end").write_text("50000")
        running.wait()
        summary = running.summary()
    counted.assert_exact(summary, 50_000)
    assert sorted(pq.read_table(tmp_path / "out")["n"].to_pylist()) == list(range(50_000))


def test_a_run_whose_driver_was_killed_goes_on_also_with_another_number_of_tasks(spark: Any, tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.spark.counted", str(tmp_path), "60000"], start_new_session=True
    ) as driver:
        # Its session may take half a minute to start.
        wait_until(
            lambda: "committed" in counted.epochs(tmp_path / "checkpoint"), "an epoch is committed", patience_s=90
        )
        assert driver.poll() is None, "it was too quick to be killed"
        driver.kill()
    topo = counted.topology(60_000, files=tmp_path / "out", tasks=3)
    summary = run(topo, workers=3, spark=spark, checkpoint=tmp_path / "checkpoint", epoch_every_s=EPOCH_S)
    counted.assert_exact(summary, 60_000)
    assert sorted(pq.read_table(tmp_path / "out")["n"].to_pylist()) == list(range(60_000))
    with pytest.raises(CheckpointError, match="has finished, in epoch"):
        run(topo, workers=2, spark=spark, checkpoint=tmp_path / "checkpoint")
    with pytest.raises(CheckpointError, match=r"keyed 'number' is gone"):
        run(counted.other_topology(), workers=2, spark=spark, checkpoint=tmp_path / "checkpoint")


def test_what_cannot_be_promised_is_refused_before_the_start(spark: Any, tmp_path: Path) -> None:
    topo = Topology("generated")

    def numbers() -> Any:
        yield (1,)

    topo.bolt("sink", lambda _: None, topo.spout("numbers", numbers, fields=("n",)).shuffle())
    with pytest.raises(TopologyError, match=r"position\(\) and seek\(\), and 'numbers' has none"):
        start(topo, spark=spark, checkpoint=tmp_path)
    with pytest.raises(ValueError, match="wants checkpoint=URL"):
        start(topo, spark=spark, delivery="exactly_once")
    with pytest.raises(ValueError, match="saves nothing"):
        start(topo, spark=spark, delivery="at_least_once", checkpoint=tmp_path)


def test_a_checkpoint_belongs_to_one_run_at_a_time(spark: Any, tmp_path: Path) -> None:
    with (
        start(counted.topology(10_000_000), workers=2, spark=spark, checkpoint=tmp_path),
        pytest.raises(CheckpointError, match=r"but run .* has it"),
    ):
        start(counted.topology(10), workers=1, spark=spark, checkpoint=tmp_path)
