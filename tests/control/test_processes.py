"""Real worker processes that are stopped, that hang, and that are killed by what they are given."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from penstock.connectors.collect import Collect
from penstock.topology.bolts import BatchBolt, KeyedBolt
from penstock.topology.topology import Topology
from penstock.topology.tuples import Tuple
from tests.control.processes import processes
from tests.endless import End, Numbers, NumbersUntilTold
from tests.ring.patience import wait_until

EPOCH_S = 0.2
KEYS = 7
# How many numbers come at the end, fast.
MORE = 5_000


class Numbered(KeyedBolt):
    """Numbers the tuples of each key."""

    fields = ("key", "number")

    def process(self, key: Any, tup: Tuple) -> Any:  # noqa: ARG002
        number = self.state[key] = self.state.get(key, 0) + 1
        return key, number


def counted(to: int | End, pass_on: Any = lambda tup: tup) -> Topology:
    topo = Topology("counted")
    numbers = topo.spout("numbers", NumbersUntilTold(to) if isinstance(to, End) else Numbers(to, pause_s=0.005))
    passed = topo.bolt("pass", pass_on, numbers.shuffle(), tasks=3, fields=("n",))
    keyed = topo.bolt("key", lambda tup: (tup.n % KEYS,), passed.shuffle(), tasks=2, fields=("key",))
    topo.bolt("rows", Collect(), topo.bolt("number", Numbered(), keyed.by("key"), tasks=2).shuffle())
    topo.bolt("seen", Collect(), passed.shuffle())
    topo.bolt("letters", Collect(), passed.dead_letters().shuffle())
    return topo


def assert_exact(summary: Any, numbers: list[int]) -> None:
    counts = Counter(n % KEYS for n in numbers)
    rows = sorted((key, number) for key, most in counts.items() for number in range(1, most + 1))
    assert sorted(row.n for row in summary.collected("seen")) == numbers
    assert sorted(tuple(row) for row in summary.collected("rows")) == rows


# ---- stopped


def test_exactly_once_goes_on_without_a_stopped_worker_which_is_welcome_when_it_wakes_up(tmp_path: Path) -> None:
    end = End(tmp_path)
    with processes(
        counted(end),
        workers=3,
        checkpoint=tmp_path / "checkpoint",
        epoch_every_s=EPOCH_S,
        detection_s=1.0,
        restart_after_s=600.0,
    ) as run:
        run.await_tuples("seen")
        victim = run.pid(1)
        os.kill(victim, signal.SIGSTOP)
        try:
            run.await_notice("worker 1", f"pid {victim}", "is silent")
            run.await_notice("everything goes on without worker 1")
            run.await_tuples("seen", 100)
        finally:
            os.kill(victim, signal.SIGCONT)
        run.await_notice(f"pid {victim}", "can be reached again")
        wait_until(lambda: run.status().workers[1].state == "begun", "it has tasks again")
        assert run.pid(1) == victim
        run.await_tuples("seen", 100)
        end.tell(more=MORE)
        summary = run.summary()
    assert_exact(summary, [*range(end.count)])
    assert summary.status.restarts == 0


@pytest.mark.parametrize("exactly_once", [True, False])
def test_a_worker_that_stays_stopped_is_replaced(tmp_path: Path, exactly_once: bool) -> None:
    end = End(tmp_path)
    checkpoint = tmp_path / "checkpoint" if exactly_once else None
    with processes(
        counted(end), workers=3, checkpoint=checkpoint, epoch_every_s=EPOCH_S, detection_s=1.0, restart_after_s=1.0
    ) as run:
        run.await_tuples("seen")
        victim = run.pid(1)
        os.kill(victim, signal.SIGSTOP)
        run.await_notice("worker 1", f"pid {victim}", "is lost: silent for")
        wait_until(lambda: run.status().workers[1].generation >= 2, "another process is in its place")
        end.tell(more=MORE)
        summary = run.summary()
    if exactly_once:
        assert_exact(summary, [*range(end.count)])
    else:
        assert {row.n for row in summary.collected("seen")} == {*range(end.count)}


# ---- in a call


def test_a_slow_call_is_named_and_waited_for(tmp_path: Path) -> None:
    noticed = tmp_path / "noticed"

    def pass_slowly(tup: Tuple) -> Any:
        while tup.n == 500 and not noticed.exists():
            time.sleep(0.01)
        return (tup.n,)

    # The call takes longer than a worker may be silent: it lasts until the notice is there. Of one that is silent there
    # is no such notice. On a busy machine it may be for a while, and is not replaced for that.
    with processes(
        counted(1000, pass_slowly),
        workers=2,
        checkpoint=tmp_path / "checkpoint",
        detection_s=3.0,
        restart_after_s=600.0,
        slow_call_s=5.0,
    ) as run:
        notice = run.await_notice("has been in a call of 'pass'")
        noticed.touch()
        summary = run.summary()
    assert "pass_slowly (test_processes.py:" in notice
    assert_exact(summary, [*range(1000)])
    assert summary.status.restarts == 0


def test_a_call_that_lets_no_python_run_beside_it_is_waited_for_too(tmp_path: Path) -> None:
    def pass_selfishly(tup: Tuple) -> Any:
        if tup.n == 500:
            ctypes.PyDLL(None).usleep(6_000_000)  # holds Python's lock for all its time
        return (tup.n,)

    def notices(checkpoint: Path) -> tuple[str, ...]:
        with processes(
            counted(1000, pass_selfishly), workers=2, checkpoint=checkpoint, detection_s=3.0, restart_after_s=600.0
        ) as run:
            summary = run.summary()
        assert_exact(summary, [*range(1000)])
        assert summary.status.restarts == 0
        return summary.status.notices

    # A busy machine may keep the echo waiting for so long; if the call does, it does each time.
    assert any("silent" not in " ".join(notices(tmp_path / str(number))) for number in range(3))


# ---- poison


def passing_on(die: Any) -> Any:
    class PassBatches(BatchBolt):
        fields = ("n",)

        def process_batch(self, batch: Any) -> Any:
            if 4_321 in batch["n"].to_pylist():
                die()
            return batch

    def pass_tuples(tup: Tuple) -> Any:
        if tup.n == 4_321:
            die()
        return (tup.n,)

    return {"tuples": pass_tuples, "batches": PassBatches()}


def die_by_exit() -> None:
    os._exit(1)


def die_by_signal() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_by_panic() -> None:
    class PanicError(BaseException):
        """As extensions written in Rust raise it."""

    message = "index out of bounds"
    raise PanicError(message)


def test_at_least_once_what_kills_a_worker_is_told_if_it_was_raised() -> None:
    with processes(counted(9_000, passing_on(die_by_panic)["tuples"]), workers=2) as run:
        run.await_notice("is lost:", "PanicError: index out of bounds", "in die_by_panic")


@pytest.mark.parametrize(("die", "how", "workers"), [(die_by_exit, "tuples", 3), (die_by_signal, "batches", 1)])
def test_exactly_once_a_tuple_that_kills_its_worker_is_given_up_and_no_other(
    tmp_path: Path, die: Any, how: str, workers: int
) -> None:
    count = 9_000
    with processes(
        counted(count, passing_on(die)[how]), workers=workers, checkpoint=tmp_path / "checkpoint", epoch_every_s=EPOCH_S
    ) as run:
        summary = run.summary()
    assert_exact(summary, [n for n in range(count) if n != 4_321])
    [letter] = summary.collected("letters")
    assert (letter.values, letter.bolt, letter.reason) == (
        [4_321],
        "pass",
        "the worker that worked on it died each time",
    )
    assert letter.tries >= 4, "once unseen, and three times alone"
    [failure] = [one for one in summary.metrics.failures if one.component == "pass"]
    assert "4321" in failure.message


def test_exactly_once_a_tuple_on_which_a_worker_hangs_is_given_up_too(tmp_path: Path) -> None:
    def pass_or_hang(tup: Tuple) -> Any:
        while tup.n == 700:
            time.sleep(1.0)
        return (tup.n,)

    # Whoever gets no turn for so long on a busy machine is taken for hung, too: that may happen some times.
    with processes(
        counted(1000, pass_or_hang),
        workers=2,
        checkpoint=tmp_path / "checkpoint",
        slow_call_s=2.0,
        max_call_s=2.5,
        max_restarts=50,
    ) as run:
        summary = run.summary()
    assert_exact(summary, [n for n in range(1000) if n != 700])
    assert [letter.values for letter in summary.collected("letters")] == [[700]]


def test_exactly_once_two_tuples_that_kill_their_workers_are_both_given_up(tmp_path: Path) -> None:
    def pass_tuples(tup: Tuple) -> Any:
        if tup.n in (3_000, 3_005):
            os._exit(1)
        return (tup.n,)

    with processes(
        counted(6_000, pass_tuples), workers=3, checkpoint=tmp_path / "checkpoint", epoch_every_s=EPOCH_S
    ) as run:
        summary = run.summary()
    assert_exact(summary, [n for n in range(6_000) if n not in (3_000, 3_005)])
    assert sorted(letter.values for letter in summary.collected("letters")) == [[3_000], [3_005]]
