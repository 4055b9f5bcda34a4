"""Workers that die and come back, for tests of what is promised then."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.testing import LocalCluster

__all__ = ["Death", "DeathAfterEpoch", "endure", "endure_after_epochs"]

Death = tuple[int, int, int]
"""How many turns come before it, who dies, and for how many turns it is away."""

DeathAfterEpoch = tuple[int, int, bool, int]
"""How many turns come before, who dies, whether an epoch begins, and how many turns come then."""


def endure(cluster: LocalCluster, deaths: Iterable[Death]) -> None:
    """Lets them happen. Who has no tasks cannot die."""
    for before, victim, away in deaths:
        _step(cluster, before)
        if victim in cluster.workers:
            cluster.kill(victim)
            _step(cluster, away)
            cluster.restart(victim)


def endure_after_epochs(cluster: LocalCluster, deaths: Iterable[DeathAfterEpoch]) -> None:
    """The same where everything is set back by a death."""
    for before, victim, epoch, between in deaths:
        _step(cluster, before)
        if epoch:
            cluster.begin_epoch()
        endure(cluster, [(between, victim, 1)])


def _step(cluster: LocalCluster, turns: int) -> None:
    for _ in range(turns):
        cluster.step()
