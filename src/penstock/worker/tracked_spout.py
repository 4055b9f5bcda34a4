"""A spout whose tuples are tracked: what fails is emitted again, and what fails again and again is given up.

The spout keeps the trees of its own tuples (a `penstock.worker.tracking.Keeper`). It is over when all of them are done.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from penstock._native import all_tuples
from penstock.flow.ledger import FailedTree, Ledger, News
from penstock.flow.pending import Kept, Pending
from penstock.topology.emit import DEAD_LETTERS, Emit
from penstock.topology.spouts import Spout
from penstock.topology.tuples import Tuple
from penstock.worker.arrival import EMPTY
from penstock.worker.batches import rows_of
from penstock.worker.failures import USER_ERRORS
from penstock.worker.own_trees import LOST
from penstock.worker.resume import SpoutProgress
from penstock.worker.spout_task import SpoutTask
from penstock.worker.tracking import Keeper, Tracking

__all__ = ["GivenUpError", "TrackedSpoutTask"]

MOST_TOGETHER = 64
"""How many outputs of one turn share a tree: to track them costs little more than to track one."""

_SINGLE = (tuple, Tuple, Emit, pa.RecordBatch, str, bytes, dict)  # the last three for `Outputs.emit` to refuse


class GivenUpError(Exception):
    """A tuple failed each time that it was tried. Reported, never raised."""


class TrackedSpoutTask(SpoutTask):
    """Runs one spout, and looks after what it has emitted until that is done."""

    def __init__(self, *, max_pending: int, max_tries: int, singly_tuples: int, **common: Any) -> None:
        super().__init__(**common)
        assert self.tracking is not None
        self._tracked: Tracking = self.tracking
        self._ledger = Ledger(self.task, self._tracked.book.new_frame())
        self._pending = Pending(most=max_pending, max_tries=max_tries)
        # Who gives ids and takes failures is told of them, and emits again whatever it wants to.
        self._looks_after_itself = isinstance(self.logic, Spout) and type(self.logic).fail is not Spout.fail
        self._most_together = MOST_TOGETHER if max_tries > 1 else 1  # who is to have one try only must not share it
        self._group, self._room_in_group = 0, 0
        """The tree that outputs of this turn join, and how many more may."""
        # When one of several in a tree fails, all are done again. So they share one only where hardly any fails.
        self._singly_tuples = self._singly = singly_tuples
        self._owed = 0
        """How much of what a predecessor had under way has not been emitted again."""
        self._is_to_drain = False
        self.replayed = 0
        self.given_up = 0

    @property
    def keeper(self) -> Keeper:
        """See SpoutTask: itself."""
        return self

    @property
    def pending(self) -> int:
        """See SpoutTask."""
        return len(self._pending)

    @property
    def unsettled(self) -> int:
        """See RunningTask."""
        return len(self._pending)

    def _emit_some(self, most_tuples: int) -> None:
        self._emit_again(most_tuples)
        room = self._pending.room
        if room > 0 and not self.draining:
            self._pending.begin_turn(self._position())
            before = self._pending.given
            self._ask(min(room, most_tuples))
            self._owed = max(0, self._owed - (self._pending.given - before))
            if self._is_to_drain:
                self.drain()
        self._end_turn()

    def _end_turn(self) -> None:
        """What was emitted is about to be told of, and may be complete at once: nothing joins it any more."""
        self._room_in_group = 0
        self._tracked.leave()

    def _is_over(self) -> bool:
        return self.draining and not self._pending

    def _emit(self, out: Any) -> None:
        if out.__class__ is list and all_tuples(out):
            rest = out
            while rest:
                root, room = self._group_with_room()
                some, rest = rest[:room], rest[room:]
                self._join(root, some)
                self._send(root, some)
            return
        for output in _each(out):
            is_alone = isinstance(output, pa.RecordBatch) or (isinstance(output, Emit) and output.id is not None)
            root = self._ledger.begin() if is_alone else self._group_with_room()[0]
            if is_alone:
                self._pending.keep(root, [output])
            else:
                self._join(root, [output])
            self._send(root, output)

    def _group_with_room(self) -> tuple[int, int]:
        """A tree that more outputs of this turn may join, and how many."""
        if not self._room_in_group:
            self._group = self._ledger.begin()
            self._room_in_group = 1 if self._singly else self._most_together
        return self._group, self._room_in_group

    def _join(self, root: int, outputs: list[Any]) -> None:
        self._pending.keep(root, outputs)
        self._room_in_group -= len(outputs)
        self._singly = max(0, self._singly - len(outputs))

    def _emit_again(self, most_tuples: int) -> None:
        for _ in range(most_tuples):
            kept = self._pending.take_again()
            if kept is None:
                return
            root = self._ledger.begin()
            self._pending.keep_again(root, kept)
            self.replayed += 1
            self._send(root, kept.outputs[0])

    def _send(self, root: int, output: Any) -> None:
        self._tracked.work_on(root)
        before = self.outputs.emitted
        try:
            self.outputs.emit(output)
        except USER_ERRORS as error:
            self.fail(error, output[self.outputs.emitted - before] if output.__class__ is list else output)

    # ---- what becomes of it

    def hear_own(self, news: News | None) -> None:
        """See Keeper."""
        # Failures first: what was sent and processed within this worker has cancelled out, also if it failed. And what
        # is done about them last: it may begin trees that these news do not know of.
        failed = self._given_up(news.failed if news else ())
        self._complete(self._ledger.hear_own(news.sums if news else ()))
        self._fail_all(failed)

    def hear(self, news: News) -> None:
        """See Keeper."""
        failed = self._given_up(news.failed)
        self._complete(self._ledger.hear(news.sums))
        self._fail_all(failed)

    def begin_epoch(self, epoch: int) -> None:
        """See SpoutTask."""
        self._ledger.mark(epoch)
        super().begin_epoch(epoch)

    def _newest_roots(self) -> Mapping[int, int]:
        return {self.task: self._ledger.newest} if self._tracked.marks_roots else EMPTY

    def marker_passed(self, epoch: int) -> None:
        """See Keeper."""
        for root in self._ledger.passed(epoch):
            self._failed(FailedTree(root, "", LOST), lost=True)

    def _given_up(self, trees: Iterable[FailedTree]) -> list[FailedTree]:
        return [tree for tree in trees if self._ledger.give_up(tree.root)]

    def _complete(self, roots: list[int]) -> None:
        for root in roots:
            first = self._pending.done(root)[0]
            if isinstance(first, Emit) and first.id is not None:
                self._tell(self.logic.ack, first.id)

    def _fail_all(self, trees: Iterable[FailedTree]) -> None:
        for tree in trees:
            self._failed(tree)

    def _failed(self, tree: FailedTree, *, lost: bool = False) -> None:
        if self.is_silent:  # what is not done is emitted again where it goes on
            return
        first = self._pending.outputs_of(tree.root)[0]
        if self._looks_after_itself and isinstance(first, Emit) and first.id is not None:
            self._pending.done(tree.root)
            self._tell(self.logic.fail, first.id)
            return
        if isinstance(first, pa.RecordBatch) and first.num_rows > 1:
            self._pending.split(tree.root, [first.slice(row, 1) for row in range(first.num_rows)])
        if not lost:
            self._singly = self._singly_tuples
        hopeless = self._pending.failed(tree.root, lost=lost)
        if hopeless is not None:
            self._give_up(hopeless, tree)

    def _give_up(self, kept: Kept, tree: FailedTree) -> None:
        self.given_up += 1
        # The same text for all that failed there, so that they are counted together; the bolt has told why.
        what = f"failed at {tree.component!r}" if tree.component else "was lost"
        error = GivenUpError(f"given up after {kept.tries} tries, the last of which {what}")
        (output,) = kept.outputs
        self.failures.add(self.component, self.task, error, output)
        letter = isinstance(output, Emit) and output.stream == DEAD_LETTERS
        if self.outputs.has_stream(DEAD_LETTERS) and not letter:
            values = _values_of(output)
            self._pending.begin_turn(self._position())
            self._emit(Emit(([*values], tree.component, tree.reason, kept.tries), stream=DEAD_LETTERS))
            self._end_turn()
            self.flush(self.clock.now_ns())

    def _tell(self, method: Any, message_id: Any) -> None:
        try:
            method(message_id)
        except USER_ERRORS as error:
            self.fail(error, message_id)

    # ---- where it is

    def progress(self) -> SpoutProgress:
        """See SpoutTask: what is not done counts as not emitted."""
        position = None if self.ended else self._pending.oldest_position(self._position())
        owed = self._pending.given_since_oldest + self._owed if position is not None else 0
        return SpoutProgress(task=self.task, position=position, owed=owed, ended=self.ended)

    def resume(self, progress: SpoutProgress) -> None:
        """See SpoutTask."""
        super().resume(progress)
        self._owed = progress.owed

    def drain(self) -> None:
        """See SpoutTask. What a predecessor had under way is emitted again first."""
        if self._owed:
            self._is_to_drain = True
        else:
            super().drain()


def _values_of(output: Any) -> Iterable[Any]:
    if isinstance(output, pa.RecordBatch):  # of one row: see _failed
        (output,) = rows_of(output)
    values: Iterable[Any] = output.values if isinstance(output, Emit) else output
    return values


def _each(out: Any) -> Iterator[Any]:
    """The single outputs of what a spout gave."""
    if isinstance(out, _SINGLE) or not isinstance(out, Iterable):
        yield out
    else:
        yield from (one for one in out if one is not None)
