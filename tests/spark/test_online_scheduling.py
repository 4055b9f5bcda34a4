"""From what real workers do to a schedule that the driver takes up: everything between is as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.control.load_records import Situation
from penstock.control.load_sample import PairRate
from penstock.control.load_store import LoadStore
from penstock.errors import LoadStoreError, RunError
from penstock.spark.run import start
from tests.control.planners import Together
from tests.ring.patience import wait_until
from tests.spark import topologies

# Few enough for a busy machine.
PER_S = 500


def situation_at(url: str, run: str) -> Situation | None:
    try:
        with LoadStore.open(url, create=False) as store:
            return store.situation(run)
    except LoadStoreError:  # not yet
        return None


def test_load_is_measured_and_a_better_placement_proposed(spark: Any, tmp_path: Path) -> None:
    url = f"sqlite://{tmp_path}/load.db"
    often: dict[str, Any] = {"load_every_s": 1.0, "schedule_every_s": 0.1, "fetch_every_s": 60.0}
    with start(topologies.endless(per_second=PER_S), workers=2, spark=spark, store=url, **often) as running:

        def measured() -> Situation | None:
            found = situation_at(url, running.id)
            is_there = found is not None and found.sample >= 3 and len(found.estimate.pairs) == 4
            return found if is_there else None

        def from_spout(found: Situation) -> list[PairRate]:
            return [rate for (edge, _, _), rate in found.estimate.pairs.items() if edge == 0]

        def rate_is_right() -> bool:
            """In the end: a machine may be too busy for the rate for a while."""
            found = measured()
            return found is not None and sum(rate.tuples for rate in from_spout(found)) == pytest.approx(PER_S, rel=0.5)

        wait_until(rate_is_right, "load is sampled")
        found = measured()
        assert found is not None
        assert {worker.worker for worker in found.workers} == {0, 1}
        assert all(0 < worker.cpu_share < 2 and worker.cores >= 1 for worker in found.workers)
        assert all(0 < share.cpu < 1 for share in found.estimate.tasks.values())
        # One of the two is on the spout's own worker, where nobody counts bytes: they are as large as the other's.
        sizes = [rate.bytes / rate.tuples for rate in from_spout(found)]
        assert sizes[0] == pytest.approx(sizes[1], rel=0.2)

        with pytest.raises(ValueError, match="no scheduler is named 'nonsense'"):
            running.use_scheduler("nonsense")
        with pytest.raises(ValueError, match="does not take"):
            running.use_scheduler(Together, gamma=2)
        with pytest.raises(RunError, match="load_alpha must be"):
            running.tune_scheduling(load_alpha=2)
        assert running.status().scheduler == "even"

        running.tune_scheduling(load_every_s=0.5)
        running.use_scheduler(Together, worker=0)
        wait_until(lambda: running.status().decisions, "what is proposed has reached the controller")
        decision = running.status().decisions[0]
        assert decision.by == "tests.control.planners:Together"
        assert {move.target for move in decision.moves} == {0}
    with LoadStore.open(url, create=False) as store:
        assert store.runs()[0].ended_at_s is not None
