"""Real worker processes whose tasks move while they run, and that are killed in the middle of it."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.control.events import Proposed, WorkersWanted
from penstock.errors import RunError
from penstock.topology.bolts import Bolt
from penstock.topology.context import TaskContext
from penstock.topology.tuples import Tuple
from tests.control.processes import ProcessRun, processes
from tests.control.test_processes import EPOCH_S, assert_exact, counted
from tests.ring.patience import wait_until

DELIVERIES = pytest.mark.parametrize("exactly_once", [True, False], ids=["exactly once", "at least once"])


def check(summary: Any, count: int, *, exactly_once: bool) -> None:
    if exactly_once:
        assert_exact(summary, [*range(count)])
    else:
        assert {row.n for row in summary.collected("seen")} == {*range(count)}, "nothing is lost"
    assert not summary.metrics.failures


@DELIVERIES
def test_tasks_move_again_and_again(tmp_path: Path, exactly_once: bool) -> None:
    count = 30_000
    with processes(
        counted(count), workers=3, checkpoint=tmp_path / "c" if exactly_once else None, epoch_every_s=EPOCH_S
    ) as run:
        run.await_tuples("seen")
        for task, worker in (("number[0]", 2), ("number[1]", 2), ("pass[1]", 0), ("numbers[0]", 1), ("number[0]", 1)):
            run.server.move(task, worker)
            assert run.place(task) == worker
            run.await_tuples("seen", 100)
        run.server.rebalance()
        summary = run.summary()
    check(summary, count, exactly_once=exactly_once)
    assert summary.status.restarts == 0
    if not exactly_once:
        assert_exact(summary, [*range(count)])


class SlowPass(Bolt):
    """Takes its time to open and to work: so a move can be met in the middle."""

    fields = ("n",)

    def open(self, context: TaskContext) -> None:  # noqa: ARG002
        time.sleep(0.2)

    def process(self, tup: Tuple) -> Any:
        time.sleep(0.001)
        return (tup.n,)


@contextlib.contextmanager
def moving(run: ProcessRun, task: str, worker: int) -> Iterator[list[str]]:
    """Somebody else moves a task meanwhile. Yields what the error says, when it is over."""
    errors: list[str] = []

    def move() -> None:
        try:
            run.server.move(task, worker)
        except RunError as error:
            errors.append(str(error))

    thread = threading.Thread(target=move)
    thread.start()
    yield errors
    thread.join()


@DELIVERIES
@pytest.mark.parametrize("moment", ["preparing", "switched"])
def test_whoever_dies_in_the_middle_leaves_the_run_on_one_assignment_or_the_other(
    tmp_path: Path, moment: str, exactly_once: bool
) -> None:
    count = 6_000
    checkpoint = tmp_path / "c" if exactly_once else None
    with processes(counted(count, SlowPass()), workers=3, checkpoint=checkpoint, epoch_every_s=EPOCH_S) as run:
        for victim_is_new in (False, True):
            wait_until(lambda: all(one.state == "begun" for one in run.status().workers), "all work")
            run.await_tuples("seen")
            old = run.place("pass[1]")
            assert old is not None
            new = (old + 1) % 3
            with moving(run, "pass[1]", new) as errors:
                wait_until(lambda: run.last_decision() == moment, moment)
                os.kill(run.pid(new if victim_is_new else old), signal.SIGKILL)
            if moment == "preparing":
                assert "was lost" in errors[0] or "everything is set back" in errors[0]
            elif exactly_once:
                assert "everything was set back" in errors[0]
            else:
                assert not errors
                assert run.place("pass[1]") == new
        summary = run.summary()
    check(summary, count, exactly_once=exactly_once)
    # Exactly once the others go on at once, and may be done before the last one is back.
    assert summary.status.restarts in ((1, 2) if exactly_once else (2,))


@DELIVERIES
def test_a_bolt_is_given_more_tasks_and_fewer(tmp_path: Path, exactly_once: bool) -> None:
    count = 40_000
    checkpoint = tmp_path / "c" if exactly_once else None
    with processes(counted(count), workers=3, checkpoint=checkpoint, epoch_every_s=EPOCH_S) as run:
        run.await_tuples("seen")
        for component, tasks in (("number", 4), ("pass", 1), ("number", 1), ("number", 3), ("pass", 4)):
            run.server.scale(component, tasks)
            (now,) = (one.tasks for one in run.server.metrics().components if one.name == component)
            assert now == tasks
            run.await_tuples("seen", 100)
        with pytest.raises(RunError, match="'numbers' keeps its 1 tasks: it is a spout"):
            run.server.scale("numbers", 2)
        summary = run.summary()
    assert_exact(summary, [*range(count)])


@DELIVERIES
def test_a_worker_without_tasks_goes_and_another_comes_in_its_place(tmp_path: Path, exactly_once: bool) -> None:
    count = 30_000
    checkpoint = tmp_path / "c" if exactly_once else None
    with processes(counted(count), workers=3, checkpoint=checkpoint, epoch_every_s=EPOCH_S, release_after_s=0.5) as run:
        run.await_tuples("seen")
        emptied = dict.fromkeys(run.status().workers[2].tasks, 1)
        run.server.post(Proposed(worker_of=emptied, scheduler="test", why="two will do"))
        wait_until(lambda: run.status().workers[2].state == "released", "it is released")
        run.await_tuples("seen", 100)
        wait_until(lambda: run.host.held == 2, "its slot is given back")
        run.server.post(WorkersWanted(count=1, why="there is much to do"))
        wait_until(lambda: run.status().workers[2].state == "ended", "another has come, and has nothing to do")
        run.server.move("number[0]", 2)
        run.await_tuples("seen", 100)
        summary = run.summary()
    assert_exact(summary, [*range(count)])
    assert run.host.held == 3
