"""Marker alignment: when a task has had a marker from all its inputs. Pure."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from penstock.worker.arrival import Marker

__all__ = ["Alignment", "AlignmentState"]


class AlignmentState(msgspec.Struct, frozen=True, kw_only=True):
    """Which markers have come, as it travels to another worker."""

    ended: list[tuple[int, int]] = []
    arrived: dict[int, list[tuple[int, int]]] = {}
    newest_roots: dict[int, dict[int, int]] = {}
    newest: int = 0


class Alignment:
    """Collects the markers of one task, from every channel that leads to it.

    A channel is (edge, source task). An end counts for every later epoch too: who has ended sends nothing more.
    """

    def __init__(self, channels: Iterable[tuple[int, int]]) -> None:
        self._channels = frozenset(channels)
        self._ended: set[tuple[int, int]] = set()
        self._arrived: dict[int, set[tuple[int, int]]] = {}
        self._newest_roots: dict[int, dict[int, int]] = {}
        self._newest = 0
        """The newest epoch whose marker all channels have sent."""

    def arrive(self, channel: tuple[int, int], marker: Marker) -> list[Marker]:
        """Takes one marker; returns those to act on and pass on now, because all channels have sent theirs.

        They are several when a channel ends that others were waiting for. A marker that arrives twice, as it may when a
        worker was restarted or a spout has moved, counts once. One that a channel has left out never comes: the newer
        ones speak for it.
        """
        if channel not in self._channels:
            message = f"marker on channel {channel}, which does not lead to this task; its channels: {self._channels}"
            raise ValueError(message)
        if self.ended:
            return []
        if marker.ends:
            self._ended.add(channel)
        elif marker.epoch > self._newest:
            self._arrived.setdefault(marker.epoch, set()).add(channel)
            if marker.newest_roots:
                self._newest_roots.setdefault(marker.epoch, {}).update(marker.newest_roots)
        if self._ended >= self._channels:
            self._arrived.clear()
            self._newest_roots.clear()
            return [Marker(marker.epoch, ends=True)]
        complete = sorted(epoch for epoch, sent in self._arrived.items() if sent | self._ended >= self._channels)
        if not complete:
            return []
        self._newest = complete[-1]
        roots = self._newest_roots
        self._arrived = {epoch: sent for epoch, sent in self._arrived.items() if epoch > self._newest}
        self._newest_roots = {epoch: newest for epoch, newest in roots.items() if epoch > self._newest}
        return [Marker(epoch, ends=False, newest_roots=roots.get(epoch, {})) for epoch in complete]

    def reopen(self, sources: Iterable[int]) -> None:
        """These source tasks were restarted: they send again, and end again."""
        restarted = set(sources)
        self._ended = {channel for channel in self._ended if channel[1] not in restarted}

    def replace(self, old: Iterable[tuple[int, int]], new: Iterable[tuple[int, int]]) -> None:
        """Other tasks send instead of some that have passed the same markers."""
        gone, heirs = frozenset(old), frozenset(new)
        self._channels = self._channels - gone | heirs
        for arrived in self._arrived.values():
            if gone & arrived:  # all of them: they are gone only when they have sent it
                arrived -= gone
                arrived |= heirs
        if gone <= self._ended:
            self._ended |= heirs
        self._ended -= gone

    def state(self) -> AlignmentState:
        """What has come so far, for whoever goes on with it."""
        return AlignmentState(
            ended=sorted(self._ended),
            arrived={epoch: sorted(channels) for epoch, channels in self._arrived.items()},
            newest_roots={epoch: dict(roots) for epoch, roots in self._newest_roots.items()},
            newest=self._newest,
        )

    def restore(self, state: AlignmentState) -> None:
        """Goes on with what had come elsewhere."""
        self._ended = set(state.ended)
        self._arrived = {epoch: set(channels) for epoch, channels in state.arrived.items()}
        self._newest_roots = {epoch: dict(roots) for epoch, roots in state.newest_roots.items()}
        self._newest = state.newest

    @property
    def ended_channels(self) -> set[tuple[int, int]]:
        """The channels that have ended."""
        return self._ended

    @property
    def ended(self) -> bool:
        """Whether every channel has ended."""
        return self._ended >= self._channels
