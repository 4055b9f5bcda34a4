"""A task's part in checkpoints: what is saved of it at the end of an epoch, and how it goes on from that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from penstock.checkpoint.manifest import PartRef, SavedTask
from penstock.checkpoint.prepared_tokens import PreparedTokens, decode_tokens
from penstock.errors import RunError
from penstock.topology.collecting import CollectingBolt
from penstock.topology.spouts import Spout
from penstock.topology.transactional import TransactionalSink
from penstock.transport.values import decode_value, encode_value
from penstock.worker.failures import USER_ERRORS, reason_of
from penstock.worker.state_savers import KeyedState, Piece, SavedSoFar, saver_for
from penstock.worker.tasks import RunningTask

__all__ = ["CheckpointRest", "Snapshot", "TaskCheckpoint", "TaskRestore"]


class TaskRestore(msgspec.Struct, frozen=True, kw_only=True):
    """What a task goes on from."""

    task: int
    ended: bool = False
    position: bytes | None = None
    parts: tuple[tuple[PartRef, ...], ...] = ()
    """The state of each of the tasks that its state comes from: of one, unless it is shared out anew."""
    share: tuple[int, int] | None = None
    """Which share of that is its own: index and count. None: all of it."""
    prepared: tuple[bytes, ...] = ()
    """What transactional sinks had prepared."""


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """What one task has to save of an epoch. Its state is still to be written."""

    task: int
    epoch: int
    piece: Piece | None
    before: tuple[PartRef, ...]
    """The parts that the piece builds upon."""
    saved: SavedTask
    """All but the parts."""


class CheckpointRest(msgspec.Struct, frozen=True, kw_only=True):
    """What a task that moves takes along of its part in checkpoints."""

    epoch: int
    """The newest epoch that it was saved for."""
    tokens: bytes | None = None
    """Of a transactional sink: what it has prepared."""
    parts: tuple[PartRef, ...] = ()
    """Where its state is saved."""
    so_far: SavedSoFar | None = None


class TaskCheckpoint:
    """Saves and restores one task."""

    def __init__(self, running: RunningTask, *, index: int) -> None:
        self._running = running
        self._index = index
        self._logic = running.logic
        self._saver = saver_for(running.logic)
        self._parts: tuple[PartRef, ...] = ()
        self._tokens = PreparedTokens()
        self._rows_at: dict[int, int] = {}
        self._prepared_end = False
        self.saved_epoch = 0
        """The newest epoch that it was saved for."""
        if isinstance(self._logic, TransactionalSink | CollectingBolt):
            self._logic.by_epochs = True

    @property
    def touch(self) -> Callable[[Any], None] | None:
        """What has to be told which keys change; None if it does not matter."""
        return self._saver.touch if isinstance(self._saver, KeyedState) else None

    def snapshot(self, epoch: int, committed: int) -> Snapshot:
        """Takes a snapshot. `committed` is the epoch that the checkpoint ends with."""
        if self.saved_epoch != committed:  # what was saved last is not in it
            self._saver.start_anew()
        self.saved_epoch = epoch
        logic = self._logic
        prepared, position = None, None
        with self._blaming("saved"):
            if isinstance(logic, TransactionalSink):
                if not self._prepared_end:  # after its end nothing comes any more
                    self._tokens.add(epoch=epoch, token=logic.prepare())
                    self._prepared_end = self._running.ended
                prepared = self._tokens.encoded()
            elif isinstance(logic, Spout) and not self._running.ended:
                position = encode_value(logic.position())
            elif isinstance(logic, CollectingBolt):
                self._rows_at[epoch] = len(logic.rows)
            piece = self._saver.piece()
        saved = SavedTask(
            component=self._running.component,
            index=self._index,
            ended=self._running.ended,
            position=position,
            prepared=prepared,
            owes=prepared is not None or (isinstance(logic, CollectingBolt) and logic.fetched < len(logic.rows)),
        )
        return Snapshot(task=self._running.task, epoch=epoch, piece=piece, before=self._parts, saved=saved)

    def wrote(self, parts: tuple[PartRef, ...]) -> None:
        """The piece of the last snapshot lies in its place."""
        self._parts = parts

    def committed(self, epoch: int) -> None:
        """The epoch is in the checkpoint: what was prepared for it may be seen."""
        with self._blaming("committed"):
            if isinstance(self._logic, TransactionalSink):
                self._tokens.commit_up_to(epoch, self._logic.commit)
            elif isinstance(self._logic, CollectingBolt) and epoch in self._rows_at:
                self._logic.commit_rows(self._rows_at.pop(epoch))

    def hand_over(self, committed: int) -> CheckpointRest:
        """It moves. What it has prepared, up to now, is committed elsewhere, with the next epoch after this one."""
        tokens = None
        if isinstance(self._logic, TransactionalSink):
            with self._blaming("handed over"):
                if not self._prepared_end:
                    self._tokens.add(epoch=committed + 1, token=self._logic.prepare())
                tokens = self._tokens.encoded()
        so_far = self._saver.hand_over()
        return CheckpointRest(epoch=self.saved_epoch, tokens=tokens, parts=self._parts, so_far=so_far)

    def take_over(self, rest: CheckpointRest, *, is_heir: bool) -> None:
        """Goes on with what was handed over. Who follows several others saves all of its state at first."""
        self.saved_epoch = rest.epoch
        self._prepared_end = self._running.ended
        for token in decode_tokens(rest.tokens):
            self._tokens.add(epoch=rest.epoch + 1, token=token)
        if rest.so_far is None or is_heir:
            self._saver.start_anew()
        else:
            self._parts = rest.parts
            self._saver.go_on_from(rest.so_far)

    def restore(self, restore: TaskRestore, read: Callable[[PartRef], bytes], epoch: int) -> None:
        """Takes up what was saved; after `open`."""
        self.saved_epoch = epoch
        with self._blaming("restored"):
            if isinstance(self._logic, TransactionalSink):
                self._logic.recover([token for some in restore.prepared for token in decode_tokens(some)])
            if isinstance(self._logic, Spout):
                if restore.position is not None:
                    self._logic.seek(decode_value(restore.position))
                return
            self._saver.restore([[read(part) for part in parts] for parts in restore.parts], restore.share)
            self._saver.start_anew()

    def _blaming(self, what: str) -> _Blame:
        return _Blame(f"{self._running.component!r} (task {self._running.task}) could not be {what}")


class _Blame:
    """Makes what user code raises about its state an error of the run: to go on without it would be wrong."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, USER_ERRORS) and not isinstance(error, RunError):
            message = f"{self._text}: {reason_of(error)}"
            raise RunError(message) from error
