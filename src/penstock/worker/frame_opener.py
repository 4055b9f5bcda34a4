"""Frames as tasks see them: from the bytes that have arrived to an arrival, or an error if they are none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from penstock._native import Record
from penstock.flow.runs import Runs
from penstock.transport.frames import FrameKind
from penstock.worker.arrival import LOCAL, Arrival, Marker
from penstock.worker.batches import batch_from_payload
from penstock.worker.early_frames import EarlyFrame
from penstock.worker.places import Places

__all__ = ["CombinedDecoder", "Decoder", "FrameOpener"]

Decoder: TypeAlias = Callable[[Any], tuple[int, int, int, Runs, list[Any]]]
"""Reads the tuples of one edge: origin_ns, sent_ns, the frame's number, the trees, the tuples."""

CombinedDecoder: TypeAlias = Callable[[Any], tuple[int, int, int, int, Runs, Any]]
"""Reads one tuple that stands for several: origin_ns, sent_ns, the frame's number, its sender, the trees, the tuple."""


class FrameOpener:
    """Opens what comes for the tasks of one worker.

    Args:
        decoders: how the tuples of each edge are read.
        combined: the same for edges whose tuples are put together on the way.
        places: where each task is.
        tracked: whether every tuple belongs to a tree.
    """

    def __init__(
        self,
        *,
        decoders: Mapping[int, Decoder],
        combined: Mapping[int, CombinedDecoder],
        places: Places,
        tracked: bool,
    ) -> None:
        self._decoders = decoders
        self._combined = combined
        self._places = places
        self._tracked = tracked

    def decoder(self, edge: int) -> Decoder | None:
        """How the tuples of an edge are read; None if there is no such edge, or they are put together on the way."""
        return None if edge in self._combined else self._decoders.get(edge)

    def sender(self, source: int, assignment: int) -> int:
        """The worker that a frame of a task comes from."""
        place = self._places.at(source, assignment)
        return LOCAL if place is None else place

    def open(self, record: Record | EarlyFrame, kind: int, payload: bytes | memoryview) -> Arrival:
        """A frame as a task sees it; raises one of `UNREADABLE` if it is none, or of an edge that is not here."""
        edge, source = record.stream, record.source
        sender = self.sender(source, record.assignment)
        if edge not in self._decoders:
            message = f"there is no edge {edge}"
            raise ValueError(message)
        tuples: Sequence[Any] = ()
        batch = None
        if kind == FrameKind.TUPLES:
            origin_ns, sent_ns, frame, runs, tuples = self._decoders[edge](payload)
            self._check_runs(runs, len(tuples))
        elif kind == FrameKind.BATCH:
            batch, origin_ns, sent_ns, frame, root = batch_from_payload(payload)
            runs = ((root, 1),)
        elif kind == FrameKind.MARKER:
            marker = Marker.from_payload(payload)
            return Arrival(edge=edge, source=source, assignment=record.assignment, sender=sender, marker=marker)
        elif kind == FrameKind.COMBINED and edge in self._combined:
            origin_ns, sent_ns, frame, sender, runs, one = self._combined[edge](payload)
            self._check_combined(runs, sender)
            tuples = [one]
        else:
            message = f"a frame of kind {kind}: there is none, or nothing is put together on edge {edge}"
            raise ValueError(message)
        if origin_ns < 0 or sent_ns < 0:
            message = f"time stamps before time began: origin_ns={origin_ns}, sent_ns={sent_ns}"
            raise ValueError(message)
        return Arrival(
            edge=edge,
            source=source,
            assignment=record.assignment,
            sender=sender,
            size_bytes=len(payload),
            origin_ns=origin_ns,
            sent_ns=sent_ns,
            frame=frame,
            runs=runs,
            tuples=tuples,
            batch=batch,
            combined=kind == FrameKind.COMBINED,
        )

    def _check_runs(self, runs: Runs, tuples: int) -> None:
        """Every tuple belongs to a tree, or to none where trees are not tracked."""
        if not runs and not self._tracked:
            return
        wanted = tuples if self._tracked else 0
        if sum(count for _, count in runs) != wanted or any(count < 1 for _, count in runs):
            message = f"the trees of {wanted} tuples are told as {runs}"
            raise ValueError(message)

    def _check_combined(self, runs: Runs, sender: int) -> None:
        """It stands for one tuple at least, which belongs to a tree; and it comes from a worker that there is."""
        if bool(runs) != self._tracked or any(count < 1 for _, count in runs):
            message = f"the trees of a tuple that stands for several are told as {runs}"
            raise ValueError(message)
        if sender not in self._places.now.values():
            message = f"there is no worker {sender}"
            raise ValueError(message)
