"""Starting, holding and ending runs: what is refused, and what the handle does."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.control.registry import RunDirectory
from penstock.errors import RunError, SlotsError, StartError, TopologyError
from penstock.spark.run import Run, run, start
from penstock.spark.slots import count_slots, held_slots
from penstock.topology.topology import Topology
from tests.ring.patience import wait_until
from tests.spark import topologies
from tests.spark.scenarios import await_flow


class Untouchable:
    """A session that nobody may touch."""

    def __getattribute__(self, name: str) -> Any:
        if name == "__class__":
            return object.__getattribute__(self, name)
        pytest.fail(f"Spark was asked for {name} before the topology was checked")


def test_a_topology_is_checked_before_spark_is_touched() -> None:
    topo = Topology("broken")
    topo.bolt("lonely", topologies.Split())

    with pytest.raises(TopologyError, match="lonely"):
        run(topo, workers=2, spark=Untouchable())


@pytest.mark.parametrize("given", ["wordcount", None, topologies.word_count])
def test_what_is_no_topology_is_named(given: Any) -> None:
    with pytest.raises(TopologyError, match=f"wanted a penstock.Topology, got .* of type {type(given).__name__}"):
        run(given, workers=2, spark=Untouchable())


def test_settings_are_checked_before_spark_is_touched() -> None:
    topo = topologies.word_count(1)

    with pytest.raises(ValueError, match=r"no setting of a run is named 'inbox_byte'; did you mean 'inbox_bytes'\?"):
        run(topo, workers=2, spark=Untouchable(), inbox_byte=1)
    with pytest.raises(ValueError, match="start_timeout_s must be of type float, got 'soon'"):
        run(topo, workers=2, spark=Untouchable(), start_timeout_s="soon")
    with pytest.raises(ValueError, match="max_tries must be at least 1, got 0"):
        run(topo, workers=2, spark=Untouchable(), max_tries=0)
    with pytest.raises(ValueError, match="workers"):
        run(topo, workers=0, spark=Untouchable())
    with pytest.raises(ValueError, match="min_workers"):
        run(topo, workers=2, min_workers=3, spark=Untouchable())
    with pytest.raises(ValueError, match="no scheduler is named 'odd'"):
        run(topo, workers=2, spark=Untouchable(), scheduler="odd")


@pytest.mark.parametrize(
    ("setting", "value", "wanted"),
    [
        ("high_water_tuples", 0, "at least 1, got 0"),
        ("high_water_ms", 0, "above 0, got 0.0"),
        ("high_water_ms", float("nan"), "above 0, got nan"),
        ("low_water_share", 1.5, "0 or more, and below 1, got 1.5"),
        ("help_step", 0, "above 0 and below 1, got 0.0"),
        ("help_step", 1, "above 0 and below 1, got 1.0"),
        ("credit_window_bytes", 0, "at least 1, got 0"),
        ("max_pending", -1, "at least 1, got -1"),
        ("turn_tuples", 0, "at least 1, got 0"),
        ("outgoing", "largest", "one of 'fifo', 'round_robin', 'lbf', got 'largest'"),
        ("outgoing_interval_ms", -1, "0 or more, got -1.0"),
        ("link_window_ms", 0, "above 0, got 0.0"),
    ],
)
def test_a_setting_that_nothing_could_flow_with_is_refused_before_spark_is_touched(
    setting: str, value: Any, wanted: str
) -> None:
    with pytest.raises(ValueError, match=rf"{setting} must be {wanted}"):
        run(topologies.word_count(1), workers=2, spark=Untouchable(), **{setting: value})


def test_more_workers_than_slots_are_refused_at_once(spark: Any) -> None:
    with pytest.raises(SlotsError, match=r"workers=7 need 7 free slots, and there are 6: Spark has 6 slots"):
        run(topologies.word_count(1), workers=7, spark=spark)


def test_a_run_starts_with_fewer_workers_where_that_will_do(spark: Any) -> None:
    with held_slots(spark, run="another", count=4):
        summary = run(topologies.word_count(3), workers=4, min_workers=2, spark=spark)

    assert len(summary.status.workers) == 2
    assert {row.word: row.count for row in summary.collected("totals")} == topologies.words_of(3)


def test_who_asks_for_no_number_gets_what_there_is_room_for(spark: Any) -> None:
    with held_slots(spark, run="another", count=5):
        summary = run(topologies.word_count(3), spark=spark)

    assert len(summary.status.workers) == 1


def test_a_session_that_would_kill_workers_is_refused(spark: Any) -> None:
    spark.conf.set("spark.sql.execution.pyspark.udf.idleTimeoutSeconds", "60")
    spark.conf.set("spark.sql.execution.pyspark.udf.killOnIdleTimeout", "true")
    try:
        with pytest.raises(StartError, match="kills a Python worker that returns nothing for 60 s"):
            run(topologies.word_count(1), workers=2, spark=spark)
    finally:
        spark.conf.unset("spark.sql.execution.pyspark.udf.idleTimeoutSeconds")
        spark.conf.unset("spark.sql.execution.pyspark.udf.killOnIdleTimeout")


def test_the_active_session_is_used_and_stays(spark: Any) -> None:
    summary = run(topologies.word_count(1), workers=1)

    assert summary.status.phase == "ended"
    assert spark.range(3).count() == 3


def test_a_handle_tells_how_the_run_stands_and_what_is_left_of_it(spark: Any) -> None:
    with start(topologies.endless(), workers=2, spark=spark) as running:
        assert running.status().phase == "running"
        assert [worker.worker for worker in running.status().workers] == [0, 1]
        assert running.id in repr(running)
        assert [file.topology for file in RunDirectory.default().runs() if file.run == running.id] == ["endless"]
        assert count_slots(spark).held == {running.id: 2}
        await_flow(running)
        assert running.wait(timeout_s=0) is None
        with pytest.raises(RunError, match="is not over"):
            running.summary()
        stopped = running.stop()
        assert stopped.status.phase == "ended"
        assert stopped.collected_names == ("last",)
        running.stop()  # over already is what was wanted

    assert running.status().phase == "ended"
    assert running.metrics().components[-1].processed > 0
    assert running.summary().collected_names == ("last",)
    assert count_slots(spark).held == {}
    assert running.id not in {file.run for file in RunDirectory.default().runs()}


def test_who_waits_gets_the_summary(spark: Any) -> None:
    with start(topologies.word_count(3), workers=1, spark=spark) as running:
        summary = running.wait()
        assert {row.word: row.count for row in summary.collected("totals")} == topologies.words_of(3)
    with start(topologies.endless(), workers=1, spark=spark) as running:
        await_flow(running)
        drained = running.drain(timeout_s=100)
        assert drained is not None
        assert drained.collected("last")


def test_leaving_the_handle_stops_the_run(spark: Any) -> None:
    left: list[Run] = []

    def leaves_in_a_hurry() -> None:
        with start(topologies.endless(), workers=2, spark=spark) as running:
            left.append(running)
            await_flow(running)
            _ = 1 / 0

    with pytest.raises(ZeroDivisionError):
        leaves_in_a_hurry()
    (running,) = left
    assert running.status().phase == "ended"
    wait_until(lambda: not spark.sparkContext.statusTracker().getActiveJobsIds(), "no job is left")


def test_a_failed_run_is_raised_by_all_who_ask_for_its_result(spark: Any) -> None:
    with start(topologies.endless(), workers=1, spark=spark, max_collected_rows=10) as running:
        for ask in (running.wait, running.summary, running.stop):
            with pytest.raises(RunError, match="max_collected_rows=10"):
                ask()
    # Who has been told of it once is not told again at the end of the block.
    assert running.status().phase == "failed"


def test_a_failure_that_nobody_asked_for_is_raised_at_the_end(spark: Any) -> None:
    def leaves_without_asking() -> None:
        with start(topologies.endless(), workers=1, spark=spark, max_collected_rows=10) as running:
            wait_until(lambda: running.status().phase == "failed", "the run has failed")

    with pytest.raises(RunError, match="max_collected_rows=10"):
        leaves_without_asking()


def test_progress_is_told_while_a_run_goes_on(spark: Any) -> None:
    seen: list[int] = []

    def progress(running: Any) -> None:
        seen.append(running.metrics().components[0].emitted)
        if seen[-1]:
            running.drain()

    summary = run(topologies.endless(), workers=1, spark=spark, progress=progress)

    assert seen[-1] > 0
    assert len(summary.collected("last")) >= seen[-1]


def test_a_sink_that_does_not_exist_is_named(spark: Any) -> None:
    summary = run(topologies.word_count(1), workers=1, spark=spark)

    with pytest.raises(ValueError, match=r"no Collect sink is named 'total' in .*; there are: 'totals'"):
        summary.collected("total")


def test_workers_whose_jobs_are_cancelled_come_back(spark: Any) -> None:
    with start(topologies.endless(), workers=2, spark=spark) as running:
        await_flow(running)
        spark.sparkContext.cancelAllJobs()
        wait_until(lambda: running.status().restarts >= 2, "both workers were replaced")
        await_flow(running)
        running.drain()
    assert running.summary().status.phase == "ended"
