"""Going on from the end of a run whose source has more by now.

A run that Spark feeds ends when its query does, or when it is drained. The stream does not: the next run goes on with
what has come meanwhile. So whatever is fed is open again, and all that follows it; what has ended besides stays so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec

from penstock.checkpoint.manifest import Manifest
from penstock.plan.edges import Edge

__all__ = ["reopened"]


def reopened(latest: Manifest, *, feeds: Collection[str], edges: Iterable[Edge]) -> Manifest:
    """The epoch, as a run with these feeds goes on from it."""
    opened = {*feeds}
    ways = [(edge.source, edge.target) for edge in edges]
    grown = True
    while grown:
        following = {target for source, target in ways if source in opened}
        grown = not following <= opened
        opened |= following
    tasks = tuple(
        msgspec.structs.replace(task, ended=False) if task.component in opened else task for task in latest.tasks
    )
    return msgspec.structs.replace(latest, tasks=tasks, finished=latest.finished and not feeds)
