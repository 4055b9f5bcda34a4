"""At least once, on real processes that are killed: what was lost comes again, and nothing waits for it."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from penstock.connectors.collect import Collect
from penstock.connectors.parquet_sink import ParquetSink
from penstock.connectors.rate import Rate
from penstock.topology.topology import Topology
from penstock.topology.tuples import Tuple
from tests.control.processes import ProcessRun, processes
from tests.endless import Numbers
from tests.ring.patience import wait_until

MAX_PENDING = 10_000


def await_other_process(run: ProcessRun, worker: int, pid: int) -> None:
    def is_there() -> bool:
        now = run.status().workers[worker]
        return now.state == "begun" and now.pid != pid

    wait_until(is_there, f"worker {worker} is back")


def test_a_spout_is_as_fast_as_before_after_the_worker_of_a_transactional_sink_has_died_four_times(
    tmp_path: Path,
) -> None:
    topo = Topology("files")
    topo.bolt("files", ParquetSink(str(tmp_path / "rows")), topo.spout("rate", Rate(3_000)).shuffle())
    with processes(topo, workers=2) as run:
        run.await_tuples("files")
        sink = run.place("files[0]")
        assert sink is not None
        assert sink != run.place("rate[0]")
        for _ in range(4):
            # More than the spout emits between two epochs, so what was lost is under way again: it is lost once more.
            run.await_tuples("files", 5_000)
            pid = run.pid(sink)
            os.kill(pid, signal.SIGKILL)
            await_other_process(run, sink, pid)
        # More than could be under way: so all that was lost came again and is done, and new tuples did besides.
        run.await_tuples("rate", 3 * MAX_PENDING)
        run.server.drain()
        summary = run.summary(120)
    numbers = {*pq.read_table(tmp_path / "rows")["seq"].to_pylist()}
    assert numbers == {*range(len(numbers))}, "some are missing"
    assert len(numbers) > MAX_PENDING
    assert not summary.metrics.failures, "and none was given up"


def test_a_tuple_that_kills_its_worker_is_given_up_after_few_deaths_and_all_others_arrive() -> None:
    def die(tup: Tuple) -> Any:
        if tup.n == 4_321:
            os._exit(1)
        return (tup.n,)

    count = 30_000
    topo = Topology("deadly")
    numbers = topo.spout("numbers", Numbers(count, pause_s=0.001))
    survived = topo.bolt("die", die, numbers.shuffle(), fields=("n",))
    topo.bolt("letters", Collect(), numbers.dead_letters().shuffle())
    topo.bolt("seen", Collect(), survived.shuffle())
    with processes(topo, workers=2) as run:
        summary = run.summary(120)
        restarts = run.status().restarts
    assert {row.n for row in summary.collected("seen")} == {*range(count)} - {4_321}
    [letter] = summary.collected("letters")
    assert letter.values == [4_321]
    assert letter.tries == restarts <= 6, "once among others, once with all that was lost, in three cuts, and again"
