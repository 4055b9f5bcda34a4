"""A spout whose tuples are tracked: what fails is emitted again, and what fails again and again is given up.

The spout keeps the trees of its own tuples (a `penstock.worker.tracking.Keeper`). It is over when all of them are done.

What was lost is emitted again in trials (see penstock.flow.pending). The coordinator lets one spout task of the run
have one at a time, so that a worker that dies meanwhile does not count against what another one has on trial. A trial
is over when a marker that was sent behind it has passed everywhere; the coordinator begins that epoch at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from penstock._native import all_tuples
from penstock.flow.ledger import UNTRACKED, FailedTree, Ledger, News
from penstock.flow.pending import Kept, Pending
from penstock.flow.replay import Skips, Stretch
from penstock.topology.emit import DEAD_LETTERS, Emit, is_record_batch
from penstock.topology.spouts import Spout
from penstock.transport.values import UNENCODABLE, decode_value, encode_value
from penstock.worker.arrival import EMPTY
from penstock.worker.batches import rows_of
from penstock.worker.failures import USER_ERRORS
from penstock.worker.moved_trees import SpoutTrees, pack_output, unpack_output
from penstock.worker.own_trees import LOST
from penstock.worker.resume import SpoutProgress
from penstock.worker.spout_task import SINGLE, SpoutTask, TrialStage
from penstock.worker.tracking import Keeper, Tracking

__all__ = ["GivenUpError", "TrackedSpoutTask"]

MOST_TOGETHER = 64
"""How many outputs of one turn share a tree: to track them costs little more than to track one."""

_encode = msgspec.msgpack.Encoder().encode
_decode_trees = msgspec.msgpack.Decoder(SpoutTrees).decode


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
        self._skips = Skips()
        """What of that was done, and is not emitted again."""
        self._is_to_drain = False
        self._turn_position: bytes | None = None
        """Where the spout was before what it emits now."""
        self._trial_stages: list[TrialStage] = []
        self._has_asked_for_trial = False
        self._trial_follows: int | None = None
        """The newest epoch whose marker was sent before all on trial was; None if not all of it was emitted."""
        self._failed_late: list[FailedTree] = []
        """Trees that failed when it had sent its last from here: what follows is done where it goes on."""
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
    def open_trees(self) -> int:
        """See Keeper."""
        return len(self._pending)

    def _emit_some(self, most_tuples: int) -> None:
        self._emit_again(most_tuples)
        room = self._pending.room
        if self.is_in_call and self.leaving:  # as with credit: whoever it waited for might wait until it has left
            room = most_tuples
        if room > 0 and (self.is_in_call or not self.draining):
            if self._skips:
                most_tuples = 1  # or it would be past the next stretch
            if not self.is_in_call:  # what one call gave comes again as a whole
                if self._skips:
                    self._skip()
                self._turn_position = self._position()
                self._pending.begin_turn(_place(self._turn_position))
            before = self._pending.given
            self._ask(min(room, most_tuples))
            self._owed = max(0, self._owed - (self._pending.given - before))
            if self._is_to_drain:
                self.drain()
        self._end_turn()

    def _skip(self) -> None:
        """Passes over what was done when its predecessor was lost, if the spout has come to that."""
        encoded = self._position()
        if encoded is None or not self._owed:  # it is past all of it
            self._skips.clear()
            return
        position = decode_value(encoded)
        stretch = self._skips.at(position)
        if stretch is not None:
            self.logic.seek(stretch.end)
            self._pending.skip(_place(encoded), stretch.given)
            if stretch.start == position:  # else some of it was emitted, and counted
                self._owed = max(0, self._owed - stretch.given)

    def _end_turn(self) -> None:
        """What was emitted is about to be told of, and may be complete at once: nothing joins it any more."""
        self._room_in_group = 0
        self._tracked.leave()

    def _is_over(self) -> bool:
        return super()._is_over() and not self._pending

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
            is_alone = is_record_batch(output) or (isinstance(output, Emit) and output.id is not None)
            root = self._ledger.begin() if is_alone else self._group_with_room()[0]
            if is_alone:
                self._pending.keep(root, [output])
            else:
                self._join(root, [output])
            self._send(root, output)

    def track_singly(self) -> None:
        """See SpoutTask. Until the worker is there again, a part of almost every group would be lost."""
        self._singly = self._singly_tuples

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
            if kept.on_trial and self._pending.has_emitted_trial:
                self._trial_follows = self.passed_epoch
                self._trial_stages.append("emitted")

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

    def _mark(self, epoch: int) -> None:
        self._ledger.mark(epoch)

    def _newest_roots(self) -> Mapping[int, int]:
        return {self.task: self._ledger.newest} if self._tracked.marks_roots and not self.waiting else EMPTY

    def marker_passed(self, epoch: int) -> None:
        """See Keeper."""
        if self.is_silent:  # it hears of the marker where it goes on
            return
        for root in self._ledger.passed(epoch):
            self._failed(FailedTree(root, "", LOST, lost=True))
        if self._trial_follows is not None and epoch > self._trial_follows:
            self._trial_follows = None
            self._trial_stages.append("over")
            hopeless = self._pending.end_trial()
            if hopeless is not None:
                self._give_up(hopeless, FailedTree(0, "", LOST, lost=True))
        if self._pending.wants_trial and not self._has_asked_for_trial:
            self._has_asked_for_trial = True
            self._trial_stages.append("wanted")

    def begin_trial(self) -> None:
        """See SpoutTask."""
        self._has_asked_for_trial = False
        self._pending.begin_trial()

    def take_trial_stages(self) -> Sequence[TrialStage]:
        """See SpoutTask."""
        stages, self._trial_stages = self._trial_stages, []
        return stages

    def _given_up(self, trees: Iterable[FailedTree]) -> list[FailedTree]:
        return [tree for tree in trees if self._ledger.give_up(tree.root)]

    def _complete(self, roots: list[int]) -> None:
        for root in roots:
            first = self._pending.done(root)[0]
            if isinstance(first, Emit) and first.id is not None:
                self._tell(self.logic.ack, first.id)

    def _fail_all(self, trees: Iterable[FailedTree]) -> None:
        if self.is_silent:
            self._failed_late += trees
            return
        for tree in trees:
            self._failed(tree)

    def _failed(self, tree: FailedTree) -> None:
        first = self._pending.outputs_of(tree.root)[0]
        if self._looks_after_itself and isinstance(first, Emit) and first.id is not None:
            self._pending.done(tree.root)
            self._tell(self.logic.fail, first.id)
            return
        if is_record_batch(first) and first.num_rows > 1:
            self._pending.split(tree.root, [first.slice(row, 1) for row in range(first.num_rows)])
        if not tree.lost:
            self.track_singly()
        hopeless = self._pending.failed(tree.root, lost=tree.lost)
        if hopeless is not None:
            self._give_up(hopeless, tree)

    def _give_up(self, kept: Kept, tree: FailedTree) -> None:
        self.given_up += 1
        # The same text for all that failed there, so that they are counted together; the bolt has told why.
        what = "was lost" if tree.lost else f"failed at {tree.component!r}"
        error = GivenUpError(f"given up after {kept.tries} tries, the last of which {what}")
        (output,) = kept.outputs
        self.failures.add(self.component, self.task, error, output)
        letter = isinstance(output, Emit) and output.stream == DEAD_LETTERS
        if self.outputs.has_stream(DEAD_LETTERS) and not letter:
            values = _values_of(output)
            self._pending.begin_turn(_place(self._position()))
            self._emit(Emit(([*values], tree.component, tree.reason, kept.tries), stream=DEAD_LETTERS))
            self._end_turn()
            self.flush(self.clock.now_ns())

    def _tell(self, method: Any, message_id: Any) -> None:
        try:
            method(message_id)
        except USER_ERRORS as error:
            self.fail(error, message_id, UNTRACKED)

    # ---- where it is

    def _position(self) -> bytes | None:
        return self._turn_position if self.is_in_call else super()._position()

    def progress(self) -> SpoutProgress:
        """See SpoutTask: what is not done counts as not emitted."""
        now = None if self.ended else self._position()
        if now is None:
            return SpoutProgress(task=self.task, ended=self.ended)
        place = _place(now)
        return SpoutProgress(
            task=self.task,
            position=_encoded_place(self._pending.oldest_position(place)),
            owed=self._pending.given_since_oldest + self._owed,
            done=(
                *(
                    Stretch(_encoded_place(stretch.start), _encoded_place(stretch.end), stretch.given)
                    for stretch in self._pending.done_stretches(place)
                ),
                *_encoded(self._skips),
            ),
        )

    def resume(self, progress: SpoutProgress) -> None:
        """See SpoutTask."""
        super().resume(progress)
        self._owed = progress.owed
        self._skips = Skips(_decoded(progress.done))

    def hand_over(self) -> bytes | None:
        """See Keeper."""
        if self.ended:
            return None
        try:
            pending = self._pending.state(pack_output)
        except UNENCODABLE:
            return None
        trees = SpoutTrees(
            ledger=self._ledger.state(),
            pending=pending,
            failed=self._failed_late,
            position=self._position(),
            owed=self._owed,
            skips=[*_encoded(self._skips)],
            draining=self.draining,
            singly=self._singly,
        )
        return _encode(trees)

    def take_over(self, trees: bytes) -> None:
        """See Keeper."""
        given = _decode_trees(trees)
        if given.position is not None:
            self.logic.seek(decode_value(given.position))
        self._ledger.restore(given.ledger)
        self._pending.restore(given.pending, unpack_output)
        self._owed, self._singly, self.draining = given.owed, given.singly, given.draining
        self._skips = Skips(_decoded(given.skips))
        self._fail_all(given.failed)

    def drain(self) -> None:
        """See SpoutTask. What a predecessor had under way is emitted again first."""
        if self._owed:
            self._is_to_drain = True
        else:
            super().drain()


def _place(encoded: bytes | None) -> Any:
    """A position as `Pending` has it: whole numbers have an order; of all others it is only asked which are equal."""
    position = None if encoded is None else decode_value(encoded)
    return position if type(position) is int else encoded


def _encoded_place(place: Any) -> bytes:
    encoded: bytes = encode_value(place) if type(place) is int else place
    return encoded


def _encoded(stretches: Iterable[Stretch]) -> Iterator[Stretch]:
    for stretch in stretches:
        yield Stretch(encode_value(stretch.start), encode_value(stretch.end), stretch.given)


def _decoded(stretches: Iterable[Stretch]) -> Iterator[Stretch]:
    for stretch in stretches:
        yield Stretch(decode_value(stretch.start), decode_value(stretch.end), stretch.given)


def _values_of(output: Any) -> Iterable[Any]:
    if is_record_batch(output):  # of one row: see _failed
        (output,) = rows_of(output)
    values: Iterable[Any] = output.values if isinstance(output, Emit) else output
    return values


def _each(out: Any) -> Iterator[Any]:
    """The single outputs of what a spout gave."""
    if isinstance(out, SINGLE) or not isinstance(out, Iterable):
        yield out
    else:
        yield from (one for one in out if one is not None)
