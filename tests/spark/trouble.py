"""Trouble on purpose, for a run on real Spark whose output is checked against the right answer.

`endured` is a scenario (see scenarios). What it takes as `trouble` gets the run while tuples flow, and returns when the
trouble is over, with plain values. Nodes are troubled as any other process would: through the cluster's socket.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from penstock.control.status import WorkerStatus
from penstock.devcluster.control import Order, ask
from penstock.flow.delivery import Delivery
from penstock.spark.run import Run, start
from penstock.spark.slots import count_slots
from tests.endless import End
from tests.ring.patience import wait_until
from tests.spark import counted
from tests.spark.scenarios import await_flow, pids

LONG_PATIENCE_S = 240.0
EPOCH_S = 0.2

Trouble = Callable[[Run], Any]


def endured(
    spark: Any, *, trouble: Trouble, delivery: Delivery, workers: int, folder: Path, broadcast: str, **settings: Any
) -> dict[str, Any]:
    """Numbers flow, there is trouble, more numbers flow: none is missing, and exactly once none is too many.

    Some of them are broadcast by an algorithm to tasks on all workers, each of which passes them on to others.
    """
    end, checkpoint = End(folder), folder / "checkpoint"
    settings |= {"checkpoint": checkpoint} if delivery == "exactly_once" else {}
    with start(
        counted.topology(end, tasks=2 * workers, broadcast=broadcast),
        workers=workers,
        spark=spark,
        delivery=delivery,
        epoch_every_s=EPOCH_S,
        **settings,
    ) as running:
        await_flow(running)
        if delivery == "exactly_once":
            wait_until(lambda: counted.epochs(checkpoint), "an epoch is committed")
        told = trouble(running)
        end.tell(more=counted.MORE)
        summary = running.wait()
    exact = delivery == "exactly_once"
    (counted.assert_exact if exact else counted.assert_complete)(summary, end.count)
    counted.assert_heard(summary, end.count, tasks=2 * workers, exact=exact)
    return {"phase": summary.status.phase, "told": told, "notices": summary.status.notices}


def kill_worker(running: Run) -> None:
    """SIGKILL."""
    _replaced_after(running, {1}, lambda: os.kill(pids(running)[1], signal.SIGKILL))


def stop_worker_for_a_while(running: Run) -> None:
    """SIGSTOP until that is noticed, then SIGCONT."""
    victim = pids(running)[1]
    before = running.status().notices
    os.kill(victim, signal.SIGSTOP)
    wait_until(lambda: 1 in _named(running, before), "somebody says that the worker is stopped")
    with contextlib.suppress(ProcessLookupError):  # it may have been replaced since
        os.kill(victim, signal.SIGCONT)
    await_all(running)


def stop_worker_until_replaced(running: Run) -> None:
    """SIGSTOP until another process has its place; then SIGCONT, if it is there still: it has to leave."""
    victim = pids(running)[1]
    _replaced_after(running, {1}, lambda: os.kill(victim, signal.SIGSTOP))
    with contextlib.suppress(ProcessLookupError):
        os.kill(victim, signal.SIGCONT)
    await_long(lambda: not _is_worker(victim), "the process that was replaced has left")


def kill_executors(running: Run, *, box: Path) -> None:
    """SIGKILL for the JVM that has most workers."""
    node, victims = _busiest(running)
    _replaced_after(running, victims, lambda: order(box, "kill_executors", node))


def cut_off_and_back(running: Run, *, box: Path) -> dict[str, set[int]]:
    """A node is cut off until somebody says so of all its workers; then it rejoins."""
    node, victims = _busiest(running)
    before = running.status().notices
    order(box, "cut_off", node)
    try:
        wait_until(lambda: victims <= _named(running, before), "somebody says that the node's workers are silent")
        named = _named(running, before)
    finally:
        order(box, "rejoin", node)
    await_all(running)
    return {"victims": victims, "named": named}


def cut_off_until_replaced(running: Run, *, box: Path) -> None:
    """A node is cut off until its workers have been started elsewhere; when it rejoins, the old ones have to leave."""
    node, victims = _busiest(running)
    old = [pids(running)[victim] for victim in victims]
    try:
        _replaced_after(running, victims, lambda: order(box, "cut_off", node))
    finally:
        order(box, "rejoin", node)
    await_flow(running)
    await_long(lambda: not any(map(_is_worker, old)), "the processes that were replaced have left")


def kill_node(running: Run, *, box: Path) -> None:
    """SIGKILL for everything on a node, which is then restarted."""
    node, victims = _busiest(running)

    def kill_and_restart() -> None:
        order(box, "kill", node)
        order(box, "restart", node)

    _replaced_after(running, victims, kill_and_restart)


def given_up_by_spark(spark: Any, *, box: Path, node: int, slots: tuple[int, int]) -> None:
    """A node is cut off until Spark has given it up, and then rejoins: `slots` there are without it, and with it."""
    without, with_it = slots
    order(box, "cut_off", node)
    await_long(lambda: count_slots(spark).now == without, "Spark has given the node up")
    order(box, "rejoin", node)
    await_long(lambda: count_slots(spark).now == with_it, "Spark has it again")


def order(box: Path, what: Literal["cut_off", "rejoin", "kill", "kill_executors", "restart"], node: int) -> None:
    ask(box, Order(what=what, node=node))


def await_all(running: Run) -> None:
    """Returns when all workers are at work."""
    await_long(lambda: {worker.state for worker in running.status().workers} == {"begun"}, "all workers are at work")


def await_long(condition: Callable[[], bool], what: str) -> None:
    """As `wait_until`, for what Spark takes its time for."""
    wait_until(condition, what, patience_s=LONG_PATIENCE_S)


def _replaced_after(running: Run, victims: set[int], happens: Callable[[], object]) -> None:
    """Lets something happen to workers, and returns when there are others in their places."""
    before = pids(running)
    happens()
    await_long(lambda: all(pids(running).get(one) not in (None, before[one]) for one in victims), "they are replaced")
    await_all(running)


def _is_worker(pid: int) -> bool:
    """Whether it has a ring. A process that was a worker is kept by Spark for a minute, for whoever comes next."""
    try:
        return "/memfd:" in Path(f"/proc/{pid}/maps").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def _busiest(running: Run) -> tuple[int, set[int]]:
    """The node with most workers, and which those are."""
    homes = {worker.worker: _node_of(worker) for worker in running.status().workers}
    most, _ = Counter(homes.values()).most_common(1)[0]
    return most, {worker for worker, node in homes.items() if node == most}


def _node_of(worker: WorkerStatus) -> int:
    """A namespace has a host name of its own; an address of the loopback interface is told which node it is."""
    host = str(worker.host)
    return int((host if host.startswith("node-") else str(worker.node)).rpartition("-")[2])


def _named(running: Run, before: tuple[str, ...]) -> set[int]:
    """Workers that are spoken of in notices since then."""
    since = [text for text in running.status().notices if text not in before]
    return {int(found[1]) for text in since for found in re.finditer(r"\bworker (\d+)\b", text)}
