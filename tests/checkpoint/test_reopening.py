"""Going on from the end of a run that Spark feeds."""

from __future__ import annotations

from datetime import UTC, datetime

from penstock.checkpoint.manifest import Manifest, SavedTask
from penstock.checkpoint.reopening import reopened
from penstock.checkpoint.shape import saved_shape
from penstock.connectors.lines import Lines
from penstock.plan.edges import edges_of
from penstock.plan.shape import shape_of
from penstock.topology.topology import Topology


def test_what_is_fed_and_what_follows_it_is_open_again() -> None:
    topo = Topology("both")
    fed, other = (topo.spout(name, Lines([], fields=("n",))) for name in ("fed", "other"))
    first = topo.bolt("first", lambda tup: tup, fed.shuffle(), fields=("n",))
    topo.bolt("second", print, first.shuffle(), other.shuffle())
    topo.bolt("beside", print, other.shuffle())
    names = ("fed", "other", "first", "second", "beside")
    latest = Manifest(
        epoch=3,
        run="r",
        created_at=datetime.now(UTC),
        shape=saved_shape(topo),
        tasks=tuple(SavedTask(component=name, index=0, ended=True) for name in names),
        finished=True,
    )
    edges = edges_of(shape_of(topo))

    again = reopened(latest, feeds=["fed"], edges=edges)

    assert {task.component for task in again.tasks if task.ended} == {"other", "beside"}
    assert not again.finished
    assert reopened(latest, feeds=[], edges=edges) == latest
