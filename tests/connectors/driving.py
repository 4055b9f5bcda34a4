"""Running spouts by hand, as a worker would."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.errors import TopologyError
from penstock.topology.context import TaskContext
from penstock.topology.emit import outputs
from penstock.topology.spouts import Spout
from penstock.topology.topology import Topology


def context(index: int = 0, count: int = 1, now_ns: Callable[[], int] = lambda: 0) -> TaskContext:
    return TaskContext(topology="t", component="c", index=index, count=count, now_ns=now_ns)


def rest(spout: Spout, *, at_most: int | None = None) -> list[Any]:
    """What it still emits, or at least the next few."""
    found: list[Any] = []
    while at_most is None or len(found) < at_most:
        try:
            found.extend(outputs(spout.next()))
        except StopIteration:
            break
    return found


def share(spout: Spout, index: int = 0, count: int = 1) -> list[Any]:
    """All that one task emits."""
    spout.open(context(index, count))
    try:
        return rest(spout)
    finally:
        spout.close()


def problems(spout: Spout, tasks: int = 1, **settings: Any) -> list[str]:
    """What the check of a topology says about it."""
    topo = Topology("t")
    topo.spout("c", spout, tasks=tasks, **settings)
    try:
        topo.check()
    except TopologyError as error:
        return [problem.partition("): ")[2] for problem in str(error).splitlines()[1:]]
    return []
