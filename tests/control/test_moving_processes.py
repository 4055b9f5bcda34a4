"""Real worker processes whose tasks move while they run, and that are killed in the middle of it."""

from __future__ import annotations

import functools
import os
import secrets
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from penstock.connectors.collect import Collect
from penstock.control.events import Proposed, WorkersWanted
from penstock.errors import RunError
from penstock.topology.bolts import Bolt
from penstock.topology.context import TaskContext
from penstock.topology.topology import Topology
from penstock.topology.transactional import TransactionalSink
from penstock.topology.tuples import Tuple
from tests.control.flood import Numbers, Tap
from tests.control.processes import ProcessRun, processes
from tests.control.test_processes import EPOCH_S, MORE, assert_exact, counted
from tests.endless import End
from tests.ring.patience import wait_until

DELIVERIES = pytest.mark.parametrize(
    "exactly_once",
    [pytest.param(True, id="exactly once", marks=pytest.mark.box), pytest.param(False, id="at least once")],
)


@DELIVERIES
def test_tasks_move_again_and_again(tmp_path: Path, exactly_once: bool) -> None:
    end = End(tmp_path)
    with processes(
        counted(end), workers=3, checkpoint=tmp_path / "c" if exactly_once else None, epoch_every_s=EPOCH_S
    ) as run:
        run.await_tuples("seen")
        for task, worker in (("number[0]", 2), ("number[1]", 2), ("pass[1]", 0), ("numbers[0]", 1), ("number[0]", 1)):
            run.server.move(task, worker)
            assert run.place(task) == worker
            run.await_tuples("seen", 100)
        run.server.rebalance()
        end.tell(more=MORE)
        summary = run.summary()
    assert_exact(summary, [*range(end.count)])
    assert summary.status.restarts == 0


class SlowPass(Bolt):
    """Takes its time to work, and does not get open while there is a file: so a move can be met in the middle."""

    fields = ("n",)

    def __init__(self, held: Path) -> None:
        self.held = held

    def open(self, context: TaskContext) -> None:  # noqa: ARG002
        while self.held.exists():
            time.sleep(0.01)

    def process(self, tup: Tuple) -> Any:
        time.sleep(0.001)
        return (tup.n,)


def error_of_move(run: ProcessRun, task: str, worker: int) -> list[str]:
    """Moves a task, and returns what the error says, if there is one."""
    try:
        run.server.move(task, worker)
    except RunError as error:
        return [str(error)]
    return []


@DELIVERIES
@pytest.mark.parametrize("moment", ["preparing", "switched"])
def test_whoever_dies_in_the_middle_leaves_the_run_on_one_assignment_or_the_other(
    tmp_path: Path, moment: str, exactly_once: bool
) -> None:
    end, held = End(tmp_path), tmp_path / "held"
    checkpoint = tmp_path / "c" if exactly_once else None
    with processes(counted(end, SlowPass(held)), workers=3, checkpoint=checkpoint, epoch_every_s=EPOCH_S) as run:
        for victim_is_new in (False, True):
            run.await_all()
            run.await_tuples("seen")
            old = run.place("pass[1]")
            assert old is not None
            new = (old + 1) % 3
            kill = functools.partial(os.kill, run.pid(new if victim_is_new else old), signal.SIGKILL)
            if moment == "preparing":
                held.touch()  # until the loss is known, nobody is prepared
            run.when_decision_is(moment, kill)
            errors = error_of_move(run, "pass[1]", new)
            held.unlink(missing_ok=True)
            if moment == "preparing":
                assert "was lost" in errors[0] or "everything is set back" in errors[0]
            elif exactly_once:
                assert "everything was set back" in errors[0]
            else:
                assert not errors
                assert run.place("pass[1]") == new
        run.await_all()
        end.tell(more=MORE)
        summary = run.summary()
    if exactly_once:
        assert_exact(summary, [*range(end.count)])
    else:
        assert {row.n for row in summary.collected("seen")} == {*range(end.count)}, "nothing is lost"
    assert not summary.metrics.failures
    assert summary.status.restarts == 2


@DELIVERIES
def test_a_bolt_is_given_more_tasks_and_fewer(tmp_path: Path, exactly_once: bool) -> None:
    end = End(tmp_path)
    checkpoint = tmp_path / "c" if exactly_once else None
    with processes(counted(end), workers=3, checkpoint=checkpoint, epoch_every_s=EPOCH_S) as run:
        run.await_tuples("seen")
        for component, tasks in (("number", 4), ("pass", 1), ("number", 1), ("number", 3), ("pass", 4)):
            run.server.scale(component, tasks)
            (now,) = (one.tasks for one in run.server.metrics().components if one.name == component)
            assert now == tasks
            run.await_tuples("seen", 100)
        with pytest.raises(RunError, match="'numbers' keeps its 1 tasks: it is a spout"):
            run.server.scale("numbers", 2)
        end.tell(more=MORE)
        summary = run.summary()
    assert_exact(summary, [*range(end.count)])


@DELIVERIES
def test_a_worker_without_tasks_goes_and_another_comes_in_its_place(tmp_path: Path, exactly_once: bool) -> None:
    end = End(tmp_path)
    checkpoint = tmp_path / "c" if exactly_once else None
    with processes(counted(end), workers=3, checkpoint=checkpoint, epoch_every_s=EPOCH_S, release_after_s=5.0) as run:
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
        end.tell(more=MORE)
        summary = run.summary()
    assert_exact(summary, [*range(end.count)])
    assert run.host.held == 3


class Pages(TransactionalSink):
    """Writes a file at each marker: until then the trees of its tuples are open."""

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder)

    def open(self, context: TaskContext) -> None:  # noqa: ARG002
        self.numbers: list[int] = []

    def process(self, tup: Tuple) -> None:
        self.numbers.append(tup.n)

    def prepare(self) -> Any:
        if not self.numbers:
            return None
        page = Path(self.folder, f".{secrets.token_hex(8)}")
        page.write_text(" ".join(map(str, self.numbers)))
        self.numbers = []
        return page.name

    def commit(self, token: Any) -> None:
        Path(self.folder, token).rename(Path(self.folder, token[1:]))


def test_moves_alone_emit_nothing_again_however_late_a_sink_commits(tmp_path: Path) -> None:
    pages, tap = tmp_path / "pages", Tap(tmp_path, "tap")
    pages.mkdir()
    topo = Topology("pages")
    numbers = topo.spout("numbers", Numbers(tap, 0))
    passed = topo.bolt("pass", lambda tup: (tup.n,), numbers.shuffle(), tasks=2, fields=("n",))
    topo.bolt("pages", Pages(pages), passed.shuffle())
    topo.bolt("said", Collect(), numbers.stream("said").to_one())
    tap.turn(2000.0)
    with processes(topo, workers=3) as run:
        run.await_tuples("pages")
        for worker in (1, 2, 0):
            for task in ("numbers[0]", "pass[1]", "pages[0]"):
                run.server.move(task, worker)
                run.await_tuples("pages", 100)
        tap.end()
        summary = run.summary()
    ((count,),) = summary.collected("said")
    seen = Counter(int(number) for page in pages.iterdir() for number in page.read_text().split())
    assert seen == Counter(range(count))
    assert summary.status.restarts == 0
