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

from penstock.checkpoint.manifest import Manifest
from penstock.checkpoint.shape import saved_shape
from penstock.checkpoint.store import CheckpointStore
from penstock.connectors.collect import Collect
from penstock.errors import CheckpointError, StartError, TopologyError
from penstock.spark.guarantee import claimed_checkpoint
from penstock.spark.run import Run, run, start
from penstock.topology.topology import Topology
from tests.checkpoint.examples import NOON
from tests.checkpoint.faulty_filesystem import Faults, faulty, in_memory
from tests.endless import End, NumbersUntilTold
from tests.ring.patience import wait_until
from tests.spark import counted
from tests.spark.scenarios import await_flow, pids
from tests.spark.topologies import Count, Split
from tests.worker.scatter_gather import scattered, told

EPOCH_S = 0.2


def await_restarts(running: Run, count: int) -> None:
    wait_until(lambda: running.status().restarts >= count, "the worker has come back")


@pytest.mark.core
def test_at_least_once_nothing_is_missing_when_workers_are_killed(spark: Any, tmp_path: Path) -> None:
    end = End(tmp_path)
    topo = counted.topology(end)
    with start(topo, workers=3, spark=spark, epoch_every_s=EPOCH_S) as running:
        for victim in (1, 2):
            await_flow(running)
            os.kill(pids(running)[victim], signal.SIGKILL)
            await_restarts(running, victim)
        end.tell(more=counted.MORE)
        summary = running.wait()
    numbers = Counter(row.n for row in summary.collected("seen"))
    assert set(numbers) == set(range(end.count))


def test_at_least_once_every_question_is_answered_by_all_when_a_worker_is_killed(spark: Any, tmp_path: Path) -> None:
    end = End(tmp_path)
    topo, answers = scattered(questions=NumbersUntilTold(end))
    topo.bolt("all", Collect(), topo.bolt("told", told, answers, tasks=2, fields=("question", "by")).shuffle())
    with start(topo, workers=3, spark=spark, epoch_every_s=EPOCH_S) as running:
        await_flow(running)
        os.kill(pids(running)[1], signal.SIGKILL)
        await_restarts(running, 1)
        end.tell(more=counted.MORE)
        summary = running.wait()
    assert {row.question for row in summary.collected("all")} == {*range(end.count)}
    assert all(row.by == [0, 1, 2] for row in summary.collected("all"))


@pytest.mark.core
def test_words_are_counted_exactly_though_a_worker_is_killed(spark: Any, tmp_path: Path) -> None:
    end = End(tmp_path)
    topo = Topology("words")
    numbers = topo.spout("numbers", NumbersUntilTold(end))
    lines = topo.bolt("line", lambda tup: (f"the {tup.n % 7} end",), numbers.shuffle(), fields=("line",), tasks=2)
    words = topo.bolt("split", Split(), lines.shuffle(), tasks=2)
    topo.bolt("totals", Collect(), topo.bolt("count", Count(), words.by("word"), tasks=2).shuffle())
    with start(
        topo, workers=3, spark=spark, checkpoint=tmp_path / "checkpoint", max_restarts=20, epoch_every_s=EPOCH_S
    ) as running:
        wait_until(lambda: counted.epochs(tmp_path / "checkpoint"), "an epoch is committed")
        wait_until(lambda: all(worker.pid for worker in running.status().workers), "all workers are there")
        os.kill(pids(running)[1], signal.SIGKILL)
        await_restarts(running, 1)
        end.tell(more=counted.MORE)
        summary = running.wait()
    wanted = Counter(word for n in range(end.count) for word in ("the", str(n % 7), "end"))
    assert sorted(summary.collected("totals")) == sorted(wanted.items())


@pytest.mark.core
@pytest.mark.parametrize("kills", [0, 2])
def test_exactly_once_the_results_are_exact(spark: Any, tmp_path: Path, kills: int) -> None:
    # It goes on until it is told to end: one that had ended would need nobody back.
    end = End(tmp_path)
    topo = counted.topology(end, files=tmp_path / "out")
    with start(
        topo, workers=3, spark=spark, checkpoint=tmp_path / "checkpoint", max_restarts=20, epoch_every_s=EPOCH_S
    ) as running:
        for victim in range(kills):
            wait_until(lambda: "committed" in counted.epochs(tmp_path / "checkpoint"), "an epoch is committed")
            wait_until(lambda: all(worker.pid for worker in running.status().workers), "all workers are there")
            os.kill(pids(running)[victim], signal.SIGKILL)
            await_restarts(running, victim + 1)
        end.tell(more=counted.MORE)
        summary = running.wait()
    counted.assert_exact(summary, end.count)
    assert sorted(pq.read_table(tmp_path / "out")["n"].to_pylist()) == list(range(end.count))


def test_a_run_whose_driver_was_killed_goes_on_also_with_another_number_of_tasks(spark: Any, tmp_path: Path) -> None:
    end = End(tmp_path)
    with subprocess.Popen(
        [sys.executable, "-m", "tests.spark.counted", str(tmp_path)], start_new_session=True
    ) as driver:
        # Its session may take half a minute to start, and longer on a busy machine.
        wait_until(
            lambda: driver.poll() is not None or "committed" in counted.epochs(tmp_path / "checkpoint"),
            "an epoch is committed",
            patience_s=300,
        )
        assert driver.poll() is None
        driver.kill()
    end.tell(more=counted.MORE)
    topo = counted.topology(end, files=tmp_path / "out", tasks=3)
    summary = run(topo, workers=3, spark=spark, checkpoint=tmp_path / "checkpoint", epoch_every_s=EPOCH_S)
    counted.assert_exact(summary, end.count)
    assert sorted(pq.read_table(tmp_path / "out")["n"].to_pylist()) == list(range(end.count))
    with pytest.raises(CheckpointError, match="has finished, in epoch"):
        run(topo, workers=2, spark=spark, checkpoint=tmp_path / "checkpoint")
    with pytest.raises(CheckpointError, match=r"keyed 'number' is gone"):
        run(counted.other_topology(), workers=2, spark=spark, checkpoint=tmp_path / "checkpoint")


def _flipped(payload: bytes) -> bytes:
    middle = len(payload) // 2
    return payload[:middle] + bytes([payload[middle] ^ 1]) + payload[middle + 1 :]


def test_a_damaged_checkpoint_is_refused_and_nothing_comes_twice(spark: Any, tmp_path: Path) -> None:
    end = End(tmp_path)
    topo = counted.topology(end, files=tmp_path / "out")
    settings = {"workers": 2, "spark": spark, "checkpoint": tmp_path / "checkpoint", "epoch_every_s": EPOCH_S}
    manifests = tmp_path / "checkpoint" / "manifests"
    with start(topo, **settings) as running:
        wait_until(lambda: len([*manifests.glob("*.json")]) > 1 and _shown(tmp_path), "rows are shown")
        running.stop()
    before = _shown(tmp_path)
    saved = {file: file.read_bytes() for file in sorted(manifests.glob("*.json"))}
    newest = max(saved)
    end.tell(more=5000)

    damages = [(newest, damage) for damage in (lambda _: b"", lambda payload: payload[:-1], _flipped)]
    for file, damage in damages:
        file.write_bytes(damage(saved[file]))
        with pytest.raises(CheckpointError, match=rf"{newest} is damaged: .*delete it to go back to epoch \d+: what"):
            run(topo, **settings)
    for file, payload in saved.items():
        file.write_bytes(payload[:-1])
    with pytest.raises(CheckpointError, match=rf"{newest} is damaged: .* No whole one is before it"):
        run(topo, **settings)
    assert _shown(tmp_path) == before

    for file, payload in saved.items():
        file.write_bytes(payload)
    run(topo, **settings)
    assert _shown(tmp_path) == list(range(end.count))


class Forgetful(counted.Total):
    """Has changed, and does not understand what it has saved."""

    def restore(self, state: Any) -> None:
        self.total = state["total"]


def test_state_that_does_not_fit_fails_the_start_at_once(
    spark: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    end = End(tmp_path)
    settings = {"workers": 2, "spark": spark, "checkpoint": tmp_path / "checkpoint", "epoch_every_s": EPOCH_S}

    def topology(total: counted.Total) -> Topology:
        topo = Topology("totals")
        numbers = topo.spout("numbers", NumbersUntilTold(end))
        topo.bolt("all", Collect(), topo.bolt("total", total, numbers.to_one()).to_one())
        return topo

    with start(topology(counted.Total()), **settings) as running:
        wait_until(lambda: "committed" in counted.epochs(tmp_path / "checkpoint"), "an epoch is committed")
        running.stop()
    with pytest.raises(StartError, match=r"(?s)cannot start:.*'total' \(task 1\) could not be restored: TypeError"):
        start(topology(Forgetful()), **settings)
    assert "again" not in caplog.text
    end.tell(more=10)
    run(topology(counted.Total()), **settings)


def _shown(folder: Path) -> list[int]:
    """The numbers that readers of the files see."""
    files = [file for file in (folder / "out").glob("*.parquet") if not file.name.startswith(".")]
    return sorted(number for file in files for number in pq.read_table(file)["n"].to_pylist())


def test_a_checkpoint_with_half_a_manifest_says_so_where_a_write_can_be_torn(monkeypatch: pytest.MonkeyPatch) -> None:
    place = in_memory()
    place = faulty(place, Faults(can_move=False))
    monkeypatch.setattr("penstock.checkpoint.store.locate", lambda _: place)
    topo = counted.topology(10)
    store = CheckpointStore(place)
    store.claim("before")
    store.commit(Manifest(epoch=1, run="before", created_at=NOON, shape=saved_shape(topo)))
    store.release("before")
    with place.filesystem.open_output_stream(f"{place.root}/manifests/000000000002.json") as stream:
        stream.write(b'{"checksum":')
    claimed = claimed_checkpoint(topo, "mock://checkpoint", run="run")
    [notice] = claimed.notices
    assert "epoch 2 was never committed: the run goes on from epoch 1" in notice
    assert claimed.start is not None
    assert claimed.start.epoch == 1


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
        start(counted.topology(End(tmp_path)), workers=2, spark=spark, checkpoint=tmp_path),
        pytest.raises(CheckpointError, match=r"but run .* has it"),
    ):
        start(counted.topology(10), workers=1, spark=spark, checkpoint=tmp_path)
