"""What a run promises, and what it goes on from, found out before anything starts."""

from __future__ import annotations

import logging
import os
from collections.abc import Collection
from typing import TYPE_CHECKING

import msgspec

from penstock.checkpoint.compatibility import differences
from penstock.checkpoint.manifest import Manifest
from penstock.checkpoint.reopening import reopened
from penstock.checkpoint.shape import SavedShape, saved_shape
from penstock.checkpoint.store import CheckpointStore
from penstock.errors import CheckpointError, TopologyError
from penstock.flow.delivery import Delivery
from penstock.plan.edges import edges_of
from penstock.plan.shape import shape_of
from penstock.topology.spouts import Spout

if TYPE_CHECKING:
    from penstock.topology.topology import Topology

__all__ = ["Checkpoint", "claimed_checkpoint", "delivery_of", "require_replayable"]

log = logging.getLogger(__name__)


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A checkpoint that is ours."""

    store: CheckpointStore
    shape: SavedShape
    start: Manifest | None
    claim: int
    """Greater than that of any run that had it before."""
    notices: tuple[str, ...] = ()
    """What a person should know of what the run goes on from."""


def delivery_of(delivery: Delivery | None, checkpoint: str | os.PathLike[str] | None) -> Delivery:
    """What is promised: what was asked for, else exactly once if there is a checkpoint, and at least once if not."""
    if delivery is None:
        return "at_least_once" if checkpoint is None else "exactly_once"
    if delivery == "exactly_once" and checkpoint is None:
        message = "delivery='exactly_once' wants checkpoint=URL, a place that all workers reach, and got none"
        raise ValueError(message)
    if delivery != "exactly_once" and checkpoint is not None:
        message = f"checkpoint= wants delivery='exactly_once', got {delivery!r}, which saves nothing"
        raise ValueError(message)
    return delivery


def require_replayable(topology: Topology) -> None:
    """Exactly once: whatever a spout has emitted since the last epoch, it must be able to emit again."""
    wrong = [
        spec.name
        for spec in topology.components.values()
        if isinstance(spec.logic, Spout) and not type(spec.logic).is_replayable()
    ]
    if wrong:
        message = (
            f"topology {topology.name!r} cannot run exactly once: wanted spouts with position() and seek(), and "
            f"{', '.join(map(repr, wrong))} {'has' if len(wrong) == 1 else 'have'} none"
        )
        raise TopologyError(message)


def claimed_checkpoint(
    topology: Topology, url: str | os.PathLike[str], *, run: str, feeds: Collection[str] = ()
) -> Checkpoint:
    """Takes a checkpoint for a run, and finds out what the run goes on from. `feeds` are the spouts that Spark feeds.

    Raises:
        CheckpointError: it cannot be used, another run has it, or this topology cannot go on from it.
    """
    store = CheckpointStore.open(url)
    store.probe()
    claim = store.claim(run)
    notices: list[str] = []
    try:
        shape, latest = saved_shape(topology), store.latest(tell=notices.append)
        if latest is not None:
            latest = reopened(latest, feeds=feeds, edges=edges_of(shape_of(topology)))
            _require_resumable(latest, shape, url)
            log.info("going on from epoch %d of %s", latest.epoch, url)
    except BaseException:
        store.release(run)
        raise
    for notice in notices:
        log.warning("%s", notice)
    return Checkpoint(store=store, shape=shape, start=latest, claim=claim, notices=tuple(notices))


def _require_resumable(latest: Manifest, shape: SavedShape, url: str | os.PathLike[str]) -> None:
    found = differences(latest.shape, shape)
    if found:
        listed = "".join(f"\n  - {difference}" for difference in found)
        message = f"topology {shape.topology!r} cannot go on from epoch {latest.epoch} of {url}:{listed}"
        raise CheckpointError(message)
    if latest.finished:
        message = (
            f"the run that {url} belongs to has finished, in epoch {latest.epoch}: there is nothing to go on with. To "
            f"begin anew, give another URL or empty this one"
        )
        raise CheckpointError(message)
