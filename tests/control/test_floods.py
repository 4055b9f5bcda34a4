"""More input than can be taken, and a consumer that is slow, or stopped: memory stays bounded, and the counts exact.

Each of these for seconds here; the same for minutes are run by `make flood`.
"""

from __future__ import annotations

import math
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from penstock.flow.delivery import Delivery
from tests.control.flood import (
    BEATS_PER_S,
    LOAD_BYTES,
    LONG_S,
    MOST_GROWTH_BYTES,
    MOST_WAITING,
    SERVICE_S,
    SLOW_WORKER,
    WORKERS,
    SlowApart,
    Tap,
    flooded,
)
from tests.control.processes import ProcessRun, processes
from tests.control.watch import Watch
from tests.ring.patience import PATIENCE_S, wait_until

DELIVERIES: tuple[Delivery, ...] = ("at_most_once", "at_least_once", "exactly_once")


def in_seconds(short: Delivery, *long: Delivery) -> list[Any]:
    """One of them for a second, in `make test`; and all for minutes."""
    marks = [pytest.mark.flood, pytest.mark.timeout(6 * LONG_S + 600)]
    return [
        pytest.param(short, 1.0, id=f"{short}-short"),
        *(pytest.param(delivery, LONG_S, id=f"{delivery}-long", marks=marks) for delivery in long),
    ]


class Flood(NamedTuple):
    """A run, what is turned on it, and what is looked at."""

    run: ProcessRun
    tap: Tap
    beat: Tap
    watch: Watch

    def hold(self, span_s: float) -> None:
        """As long as a path that has nothing to do with it takes for so many seconds of its own input: it goes on."""
        self.run.await_tuples("aside", int(span_s * BEATS_PER_S), patience_s=2 * span_s + PATIENCE_S)

    def account(self, span_s: float) -> tuple[int, int, int]:
        """Ends the input; how many numbers there were, how many have come out, and how many once more."""
        self.tap.end()
        self.beat.end()
        wait_until(lambda: self.watch.looks > 5, "memory was looked at some times")
        [total] = self.run.summary(timeout_s=span_s + PATIENCE_S).collected("totals")
        return tuple(total)

    def assert_bounded(self) -> None:
        """No process is much larger than it was."""
        growth = self.watch.growth_bytes()
        assert max(growth.values()) < MOST_GROWTH_BYTES, growth
        assert self.watch.longest["slow[0]"] < MOST_WAITING, self.watch.longest


@contextmanager
def flood(folder: Path, delivery: Delivery, *, helping: bool | None = None, **given: Any) -> Iterator[Flood]:
    tap, beat = Tap(folder, "numbers"), Tap(folder, "beats")
    beat.turn(BEATS_PER_S)
    checkpoint = folder / "checkpoint" if delivery == "exactly_once" else None
    with processes(
        flooded(tap, beat, service_s=SERVICE_S, load_bytes=LOAD_BYTES, helping=helping),
        workers=WORKERS,
        checkpoint=checkpoint,
        scheduler=SlowApart(),
        delivery=delivery,
        **given,
    ) as run:
        run.await_tuples("aside")
        with Watch(run) as watch:
            yield Flood(run, tap, beat, watch)


@pytest.mark.parametrize(("delivery", "span_s"), in_seconds("at_most_once", *DELIVERIES))
def test_a_slow_consumer(tmp_path: Path, delivery: Delivery, span_s: float) -> None:
    with flood(tmp_path, delivery) as flooding:
        flooding.tap.turn(math.inf)
        flooding.run.await_tuples("slow", int(100 * span_s))
        flooding.hold(span_s)
        said, seen, again = flooding.account(span_s)
    assert (seen, again) == (said, 0)
    flooding.assert_bounded()


@pytest.mark.parametrize(("delivery", "span_s"), in_seconds("at_least_once", *DELIVERIES))
def test_a_consumer_that_is_stopped_and_goes_on(tmp_path: Path, delivery: Delivery, span_s: float) -> None:
    with flood(tmp_path, delivery, detection_s=1.0, restart_after_s=10 * span_s + 600) as flooding:
        run = flooding.run
        flooding.tap.turn(math.inf)
        run.await_tuples("slow")
        victim = run.pid(SLOW_WORKER)
        os.kill(victim, signal.SIGSTOP)
        try:
            run.await_notice(f"pid {victim}", "is silent")
            if delivery == "exactly_once":
                run.await_notice(f"everything goes on without worker {SLOW_WORKER}")
            flooding.hold(span_s)
        finally:
            os.kill(victim, signal.SIGCONT)
        run.await_notice(f"pid {victim}", "can be reached again")
        run.await_tuples("slow", 100)
        said, seen, again = flooding.account(span_s)
        assert run.status().restarts == 0
    assert (seen, again) == (said, 0)
    flooding.assert_bounded()


@pytest.mark.parametrize(("delivery", "span_s"), in_seconds("exactly_once", *DELIVERIES[1:]))
def test_a_consumer_that_is_stopped_for_good(tmp_path: Path, delivery: Delivery, span_s: float) -> None:
    with flood(tmp_path, delivery, detection_s=1.0, restart_after_s=1.0) as flooding:
        run = flooding.run
        flooding.tap.turn(math.inf)
        run.await_tuples("slow")
        victim = run.pid(SLOW_WORKER)
        os.kill(victim, signal.SIGSTOP)
        run.await_notice(f"pid {victim}", "is lost: silent for")
        wait_until(
            lambda: run.status().workers[SLOW_WORKER].state == "begun" and run.pid(SLOW_WORKER) != victim, "its heir"
        )
        run.await_tuples("slow", 100)
        flooding.hold(span_s)
        said, seen, again = flooding.account(span_s)
    assert seen == said
    assert again == 0 or delivery == "at_least_once"
    flooding.assert_bounded()


@pytest.mark.parametrize(("delivery", "span_s"), in_seconds("at_least_once", *DELIVERIES))
def test_a_burst_of_ten_times_what_can_be_taken(tmp_path: Path, delivery: Delivery, span_s: float) -> None:
    can_take_per_s = 1 / SERVICE_S
    # To work it off takes ten times as long as it lasts.
    bursts, burst = max(1, round(span_s / 30.0)), int(min(span_s, 20.0) * 2 * can_take_per_s)
    with flood(tmp_path, delivery) as flooding:
        for _ in range(bursts):
            flooding.tap.turn(can_take_per_s / 4)
            flooding.run.await_tuples("slow", 50)
            before = flooding.run.processed("slow")
            flooding.tap.turn(10 * can_take_per_s, burst)
            wait_until(
                lambda before=before: flooding.run.processed("slow") >= before + burst,  # type: ignore[misc]
                "the burst is worked off",
                patience_s=4 * burst * SERVICE_S + PATIENCE_S,
            )
        said, seen, again = flooding.account(span_s)
    assert (seen, again) == (said, 0)
    assert said > bursts * burst
    flooding.assert_bounded()


def test_the_consumer_is_called_too_slow_and_who_feeds_it_is_said_to_wait(tmp_path: Path) -> None:
    """Where nobody helps it: with help enough, all that comes is done, and nobody has to wait."""
    with flood(tmp_path, "at_most_once", helping=False, redirection=False) as flooding:
        flooding.tap.turn(math.inf)

        def told() -> dict[str, tuple[str, ...]]:
            pressures = flooding.run.status().pressures
            return {one.component: one.waits_for for one in pressures}

        wait_until(lambda: told() == {"slow": (), "pass": ("slow",)}, "the culprit is named, and who waits for it")
        flooding.account(1.0)
