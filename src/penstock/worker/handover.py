"""A task on its way to another worker: what is sent of it, and how it is put together there.

    BEGIN, STATE … while the task works on, then STATE and REST when it has stopped, each in chunks that fit everywhere

If the way breaks in the middle, everything is sent again from BEGIN. The old place keeps the task, stopped, until the
new one has said that it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from typing import Any

import msgspec

from penstock.topology.collecting import CollectingBolt
from penstock.transport.ring import Route
from penstock.worker.alignment import AlignmentState
from penstock.worker.bolt_task import BoltTask
from penstock.worker.resume import SpoutProgress
from penstock.worker.spout_task import SpoutTask
from penstock.worker.state_movers import KeyedMover, Share, StateMover, mover_for
from penstock.worker.task_checkpoints import CheckpointRest

__all__ = ["HandoverPart", "IncomingTask", "OutgoingTask", "PartKind", "TaskRest", "decode_part", "go_on", "rest_of"]

CHUNK_BYTES = 256 << 10
"""Fits into a record of any ring, so that nobody has to wait for one that does not."""

_encode = msgspec.msgpack.Encoder().encode


class PartKind(IntEnum):
    """What a part holds."""

    BEGIN = 0
    """nothing: forget what came before"""
    STATE = 1
    """a piece of state, as a `StateMover` gives and takes it"""
    REST = 2
    """a `TaskRest`: the task runs from here on"""


class HandoverPart(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """What one frame holds."""

    kind: PartKind
    is_whole: bool
    """Whether the piece ends here."""
    data: bytes


class TaskRest(msgspec.Struct, frozen=True, kw_only=True):
    """What a task has beside its state."""

    ended: bool
    passed_epoch: int
    progress: SpoutProgress | None = None
    """Of a spout: where it goes on, if its trees do not go with it."""
    trees: bytes | None = None
    """Of a task that keeps trees: those, see penstock.worker.moved_trees."""
    alignment: AlignmentState | None = None
    """Of a bolt: the markers that have come."""
    rows: tuple[int, int] | None = None
    """Of a sink whose rows the driver fetches: how many were fetched, and committed."""
    checkpoint: CheckpointRest | None = None
    """Where tasks are saved: its part in that."""


decode_part = msgspec.msgpack.Decoder(HandoverPart).decode
_decode_rest = msgspec.msgpack.Decoder(TaskRest).decode


class OutgoingTask:
    """The old place's side.

    Args:
        running: the task.
        worker: where it goes.
        route: of its frames.
        send: sends a frame there.
        share: which share of its state goes there, if not all of it.
    """

    def __init__(
        self,
        running: SpoutTask | BoltTask,
        *,
        worker: int,
        route: Route,
        send: Callable[[Route, bytes], None],
        share: Share | None = None,
    ) -> None:
        self.running = running
        self.worker = worker
        self.heir = route.target
        """The task that it is, or feeds, there."""
        self._route = route
        self._send_frame = send
        self._mover: StateMover = mover_for(running.logic, share)
        self._ahead: Iterator[bytes] | None = None
        self.is_ahead = False
        """Whether all was sent that can be sent ahead."""
        self._is_anew = False
        self.is_taken = False
        """Whether the task runs there."""

    @property
    def touch(self) -> Callable[[Sequence[Any]], None] | None:
        """What has to be told which keys' state may change; None if it does not matter."""
        return self._mover.touch if isinstance(self._mover, KeyedMover) else None

    def go_ahead(self) -> None:
        """Sends the next piece. TypeError if the state cannot travel."""
        if self._ahead is None:
            self._send(PartKind.BEGIN, b"")
            self._ahead = self._mover.ahead()
        piece = next(self._ahead, None)
        if piece is None:
            self.is_ahead = True
        else:
            self._send(PartKind.STATE, piece)

    def send_rest(self, rest: TaskRest) -> None:
        """The task has stopped: sends all that is still to be sent."""
        if self._is_anew:
            self._begin_anew()
        for piece in self._mover.rest():
            self._send(PartKind.STATE, piece)
        self._send(PartKind.REST, _encode(rest))

    def send_again(self, rest: TaskRest | None) -> None:
        """Something of it may be lost. `rest` is None as long as the task works: then it is sent when that stops."""
        self._is_anew = True
        if rest is not None:
            self.send_rest(rest)

    def _begin_anew(self) -> None:
        # By the same mover: it knows which keys were sent before, and are gone.
        self._ahead, self.is_ahead = None, False
        while not self.is_ahead:
            self.go_ahead()

    def _send(self, kind: PartKind, piece: bytes) -> None:
        for start in range(0, max(1, len(piece)), CHUNK_BYTES):
            chunk = piece[start : start + CHUNK_BYTES]
            is_whole = start + CHUNK_BYTES >= len(piece)
            self._send_frame(self._route, _encode(HandoverPart(kind, is_whole, chunk)))


class IncomingTask:
    """The new place's side, of what comes from one old task."""

    def __init__(self, running: SpoutTask | BoltTask, *, comes_whole: bool) -> None:
        self._mover = mover_for(running.logic)
        self._comes_whole = comes_whole
        self._chunks: list[bytes] = []

    def take(self, part: HandoverPart) -> TaskRest | None:
        """Takes a part in; returns the rest when that is complete. Raises what `restore` does.

        Where the state comes from several old tasks, none of them begins anew: a key is only one's.
        """
        if part.kind == PartKind.BEGIN:
            self._chunks.clear()
            if self._comes_whole:
                self._mover.begin()
            return None
        self._chunks.append(part.data)
        if not part.is_whole:
            return None
        piece = b"".join(self._chunks)
        self._chunks.clear()
        if part.kind == PartKind.STATE:
            self._mover.take(piece)
            return None
        return _decode_rest(piece)


def rest_of(running: SpoutTask | BoltTask, checkpoint: CheckpointRest | None, trees: bytes | None) -> TaskRest:
    """What goes with the state of a task that has stopped."""
    common: dict[str, Any] = {
        "ended": running.ended,
        "passed_epoch": running.passed_epoch,
        "checkpoint": checkpoint,
        "trees": trees,
    }
    if isinstance(running, SpoutTask):
        return TaskRest(progress=running.progress() if trees is None else None, **common)
    logic = running.logic
    return TaskRest(
        alignment=running.alignment.state(),
        rows=(logic.fetched, logic.committed) if isinstance(logic, CollectingBolt) and logic.by_epochs else None,
        **common,
    )


def go_on(running: SpoutTask | BoltTask, rests: Sequence[TaskRest]) -> None:
    """The task goes on here. Where it follows several, they have had the same markers from whoever fed them."""
    rest = min(rests, key=lambda rest: (rest.ended, rest.passed_epoch))
    running.passed_epoch = max(running.passed_epoch, rest.passed_epoch)
    if rest.trees is not None and running.keeper is not None:
        running.keeper.take_over(rest.trees)
    if isinstance(running, SpoutTask):
        if rest.progress is not None:
            running.resume(rest.progress)
        return
    if rest.alignment is not None:
        running.alignment.restore(rest.alignment)
    if rest.rows is not None:
        running.logic.go_on(fetched=rest.rows[0], committed=rest.rows[1])
    if rest.ended:
        running.restore_end()
