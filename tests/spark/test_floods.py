"""On real Spark, for minutes: more input than can be taken, and a consumer that is slow, stopped, and goes on."""

from __future__ import annotations

import math
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from penstock.flow.delivery import Delivery
from penstock.spark.run import Run, start
from tests.control.flood import (
    BEATS_PER_S,
    LOAD_BYTES,
    LONG_S,
    MOST_GROWTH_BYTES,
    SERVICE_S,
    SLOW_WORKER,
    WORKERS,
    SlowApart,
    Tap,
    flooded,
)
from tests.control.watch import Watch
from tests.ring.patience import PATIENCE_S, wait_until
from tests.spark.scenarios import pids


@pytest.mark.flood
@pytest.mark.timeout(6 * LONG_S + 600)
@pytest.mark.parametrize("delivery", ["at_least_once", "exactly_once"])
def test_a_consumer_that_is_slow_and_stopped_and_goes_on(spark: Any, tmp_path: Path, delivery: Delivery) -> None:
    tap, beat = Tap(tmp_path, "numbers"), Tap(tmp_path, "beats")
    beat.turn(BEATS_PER_S)
    with start(
        flooded(tap, beat, service_s=SERVICE_S, load_bytes=LOAD_BYTES),
        workers=WORKERS,
        spark=spark,
        scheduler=SlowApart(),
        scheduling="off",
        delivery=delivery,
        checkpoint=tmp_path / "checkpoint" if delivery == "exactly_once" else None,
        restart_after_s=10 * LONG_S + 600,
    ) as running:
        await_tuples(running, "aside", 1)
        with Watch(running) as watch:
            tap.turn(math.inf)
            hold(running, LONG_S / 2)
            victim = pids(running)[SLOW_WORKER]
            os.kill(victim, signal.SIGSTOP)
            try:
                hold(running, LONG_S / 2)
            finally:
                os.kill(victim, signal.SIGCONT)
            await_tuples(running, "slow", 100)
            tap.end()
            beat.end()
            assert running.wait(LONG_S + PATIENCE_S)
        summary = running.summary()
    [(said, seen, again)] = summary.collected("totals")
    assert (seen, again) == (said, 0)
    assert seen > 100
    assert summary.status.restarts == 0
    growth = watch.growth_bytes()
    assert max(growth.values()) < MOST_GROWTH_BYTES, growth


def hold(running: Run, span_s: float) -> None:
    """As long as a path that has nothing to do with it takes for so many seconds of its own input."""
    await_tuples(running, "aside", int(span_s * BEATS_PER_S), patience_s=2 * span_s + PATIENCE_S)


def await_tuples(running: Run, component: str, count: int, patience_s: float = PATIENCE_S) -> None:
    def processed() -> int:
        return sum(one.processed for one in running.metrics().components if one.name == component)

    wanted = processed() + count
    wait_until(lambda: processed() >= wanted, f"{component} processes {count} more", patience_s=patience_s)
