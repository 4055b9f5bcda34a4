"""What a spout has emitted and what is not known to be processed yet: kept to be emitted again. Pure.

Outputs are kept in the order of emission, those that share a tree together, with the position that the spout had before
them. What lies before the oldest of them is done: a spout that is started anew goes on from there.

What was emitted together is emitted again one by one: only one of them may be to blame.

An output that is lost may be what killed the worker that it was lost with, or one of thousands that were there by
chance. So from then on it is a *suspect*, until it is done. New outputs flow as before; suspects are emitted again in
*trials*, one trial at a time:

    1. All outputs that were lost since the last trial are one group: hardly ever is one of them to blame, and then all
       of them are done after one trial.
    2. A group that was lost on trial is cut into parts, and each is a group by itself. Those of it that were done are
       acquitted.
    3. If one suspect alone was lost on trial, it is *accused*. New outputs were under way with it, and one of those may
       have killed the worker instead; but they were lost then, so they are the next group (rule 1). If that one is
       done, the accused has killed the worker. It is given up if it was lost `max_tries` times, and alone twice (else
       one kill from outside would do, for one that was in a group with the culprit); if not, it is tried again.
       If that group is lost, too, nothing is proven, and the accused is a suspect like others again.

So a suspect is only ever under way on trial, and what kills workers does so once among new outputs, once in each group
that it is in, and then alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from heapq import nlargest
from itertools import dropwhile
from typing import Any

import msgspec

from penstock.flow.replay import MOST_STRETCHES, Places, Stretch

__all__ = ["Kept", "Pending", "PendingState"]

_PARTS = 22
"""How many parts a group is cut into. A trial that goes well costs an epoch; one that does not costs the restart of a
worker, of which there are `max_restarts`. So there are more than two parts: three cuts leave one of 10,000, which is
the default of `max_pending`."""


_LOSSES_ALONE = 2
_TURNS_TO_JOIN = 64


class _Turn:
    """One time that the spout was asked: where it was before, how much it gave, and how much of that is not done."""

    __slots__ = ("given", "open", "position")

    def __init__(self, position: Any) -> None:
        self.position = position
        self.given = 0
        self.open = 0


class Kept(msgspec.Struct, gc=False):
    """Outputs of a spout that share a tree."""

    outputs: list[Any]
    turn: Any
    tries: int = 1
    """How often it was emitted."""
    failures: int = 0
    """How often it failed."""
    losses: int = 0
    """How often it was lost."""
    losses_alone: int = 0
    """How often it was lost as the only one on trial."""
    on_trial: bool = False
    """Whether it is a suspect, and is emitted again to see whether it is lost again."""


class PendingState(msgspec.Struct, frozen=True, kw_only=True):
    """What is pending, as it travels to another worker. In place of its turn, what is kept has the index of that."""

    turns: list[tuple[Any, int, int]]
    """Position, how much was given, and how much of that is not done."""
    kept: dict[int, Kept]
    again: list[Kept]
    suspects: list[list[Kept]]
    """Those that were lost since the last trial, and then the groups. A trial is over when the spout moves."""


class Pending:
    """The outputs of one spout task, by the root of their trees.

    Args:
        most: how many may be under way; a spout is not asked for more.
        max_tries: how often an output is emitted, the first time included, until it is given up.
    """

    def __init__(self, *, most: int, max_tries: int) -> None:
        self._most = most
        self._max_tries = max_tries
        self._kept: dict[int, Kept] = {}
        self._open = 0
        self.given = 0
        """How many outputs there were, ever."""
        self._turns: deque[_Turn] = deque()
        self._places = Places()
        self._turns_after_joining = 0
        self._again: deque[Kept] = deque()
        self._lost: list[Kept] = []
        """Suspects that have not been on trial since they were lost."""
        self._groups: list[list[Kept]] = []
        """Parts of what was lost on trial; the last is the next."""
        self._trial: deque[Kept] | None = None
        """What is still to be emitted of the trial that is under way; None if none is."""
        self._trial_size = 0
        self._lost_on_trial: list[Kept] = []
        self._accused: Kept | None = None
        self._held = 0
        """How many suspects are not under way."""

    def __len__(self) -> int:
        return self._open

    @property
    def room(self) -> int:
        """How many more outputs there may be. Suspects that wait for their trial hold no new ones up, within bounds."""
        return min(self._most - (self._open - self._held), 2 * self._most - self._held)

    def begin_turn(self, position: Any) -> None:
        """The spout is about to be asked, and is at this position, which has a hash."""
        turns = self._turns
        while turns and not turns[0].open:
            turns.popleft()
        if not turns:
            self._places.clear()
        if len(turns) > 2 * self._turns_after_joining + _TURNS_TO_JOIN:
            turns = self._join_done_turns()
        if turns and not turns[-1].given:  # nothing came of the last one
            if turns[-1].position == position:
                return
            turns[-1].position = position
        else:
            turns.append(_Turn(position))
        self._places.add(position)

    def _join_done_turns(self) -> deque[_Turn]:
        """Makes one of each row of turns that are done: while one output is not done, there may be millions.

        The last stays by itself if nothing has come of it: the spout is where it began, and is about to begin there
        again. Were it gone, two turns would seem to have begun at one place, and no stretch could be told from another.
        """
        joined: deque[_Turn] = deque()
        for turn in self._turns:
            if joined and not joined[-1].open and not turn.open and turn.given:
                joined[-1].given += turn.given
            else:
                joined.append(turn)
        self._turns = joined
        self._turns_after_joining = len(joined)
        return joined

    def skip(self, position: Any, given: int) -> None:
        """The spout passes over so much that is done, from this position on, and goes on behind it."""
        self.begin_turn(position)
        self._turns[-1].given += given

    def keep(self, root: int, outputs: Sequence[Any]) -> None:
        """Keeps outputs of this turn, with those of the same tree."""
        turn = self._turns[-1]
        turn.given += len(outputs)
        turn.open += len(outputs)
        self.given += len(outputs)
        self._open += len(outputs)
        kept = self._kept.get(root)
        if kept is None:
            self._kept[root] = Kept([*outputs], turn)
        else:
            kept.outputs += outputs

    def keep_again(self, root: int, kept: Kept) -> None:
        """Keeps an output that is emitted again, under its new root."""
        kept.tries += 1
        self._kept[root] = kept

    def take_again(self) -> Kept | None:
        """The next output that is to be emitted again."""
        if self._again:
            return self._again.popleft()
        return self._trial.popleft() if self._trial else None

    def done(self, root: int) -> list[Any]:
        """The tree is complete, or the spout looks after it itself; returns the outputs, which are forgotten."""
        kept = self._kept.pop(root)
        self._forget(kept)
        return kept.outputs

    def split(self, root: int, outputs: Sequence[Any]) -> None:
        """What was kept as one output is kept as several, because they can be emitted again one by one."""
        kept = self._kept[root]
        more = len(outputs) - len(kept.outputs)
        kept.outputs = [*outputs]
        kept.turn.open += more
        self._open += more

    def failed(self, root: int, *, lost: bool = False) -> Kept | None:
        """The tree has failed: its outputs are queued to be emitted again, or returned if that was often enough."""
        kept = self._kept.pop(root)
        several = len(kept.outputs) > 1
        each = [Kept([output], kept.turn, kept.tries) for output in kept.outputs] if several else [kept]
        if lost:
            for one in each:
                one.losses += 1
            (self._lost_on_trial if kept.on_trial else self._lost).extend(each)
            self._held += len(each)
            return None
        kept.on_trial = False  # whatever is wrong with it, no worker has died of it
        if several:
            # One of them at least failed, and nobody knows which: that counts, but not as the last straw.
            for one in each:
                one.failures = min(1, self._max_tries - 1)
        else:
            kept.failures += 1
            if kept.failures >= self._max_tries:
                self._forget(kept)
                return kept
        self._again.extend(each)
        return None

    def _forget(self, kept: Kept) -> None:
        kept.turn.open -= len(kept.outputs)
        self._open -= len(kept.outputs)

    # ---- suspects

    @property
    def wants_trial(self) -> bool:
        """Whether there are suspects, and none is on trial."""
        return self._trial is None and bool(self._lost or self._groups)

    def begin_trial(self) -> None:
        """Suspects may be emitted again: a group of them, by `take_again`."""
        if self._lost:
            group, self._lost = self._lost, []
        else:
            group = self._groups.pop()
        for kept in group:
            kept.on_trial = True
        self._trial, self._trial_size = deque(group), len(group)
        self._held -= len(group)

    @property
    def has_emitted_trial(self) -> bool:
        """Whether all outputs on trial are under way, or were."""
        return self._trial is not None and not self._trial

    def end_trial(self) -> Kept | None:
        """Each output on trial, and all that was emitted before it, is done, failed or lost.

        Returns the one that is given up, if one is.
        """
        lost, self._lost_on_trial = self._lost_on_trial, []
        self._trial = None
        for kept in lost:
            kept.on_trial = False
        if lost and self._accused is not None:
            self._groups.append([self._accused])
            self._accused = None
        if len(lost) == 1:
            lost[0].losses_alone += self._trial_size == 1
        if len(lost) > 1:
            size = -(-len(lost) // _PARTS)
            # The next one comes from the end; the oldest should be the first.
            self._groups += [lost[start : start + size] for start in range(0, len(lost), size)][::-1]
        elif lost:
            (self._accused,) = lost
        return self._judged()

    def _judged(self) -> Kept | None:
        """Gives the accused up, or queues it to be tried again, when all is acquitted that was lost with it."""
        accused = self._accused
        if accused is None or self._lost:
            return None
        self._accused = None
        if accused.losses < self._max_tries or accused.losses_alone < min(_LOSSES_ALONE, self._max_tries):
            self._groups.append([accused])
            return None
        self._held -= 1
        self._forget(accused)
        return accused

    @property
    def roots(self) -> list[int]:
        """The roots of all that is under way."""
        return [*self._kept]

    def outputs_of(self, root: int) -> list[Any]:
        """The outputs behind a root."""
        return self._kept[root].outputs

    def oldest_position(self, now: Any) -> Any:
        """From where on not everything is done; the spout itself is at `now`."""
        for turn in self._turns:
            if turn.open:
                return turn.position
        return now

    @property
    def given_since_oldest(self) -> int:
        """How many outputs the spout gave from `oldest_position` on: who goes on from there has to give them again."""
        undone = dropwhile(lambda turn: not turn.open, self._turns)
        return sum(turn.given for turn in undone)

    def done_stretches(self, now: Any) -> list[Stretch]:
        """The stretches that are done behind `oldest_position`; the spout itself is at `now`."""
        if not self._places.tell_turns_apart:
            return []
        found: list[Stretch] = []
        start, given = None, 0
        for turn in dropwhile(lambda turn: not turn.open, self._turns):
            is_done = not turn.open and turn.position != now  # a turn that began now may give more
            if not is_done and given:
                found.append(Stretch(start, turn.position, given))
                given = 0
            elif is_done:
                start = turn.position if not given else start
                given += turn.given
        if given:
            found.append(Stretch(start, now, given))
        if len(found) > MOST_STRETCHES:
            longest = {id(stretch) for stretch in nlargest(MOST_STRETCHES, found, key=lambda stretch: stretch.given)}
            found = [stretch for stretch in found if id(stretch) in longest]
        return found

    def state(self, pack: Callable[[Any], Any]) -> PendingState:
        """All of it, for the spout to go on elsewhere. `pack` makes what can travel of an output."""
        index = {id(turn): number for number, turn in enumerate(self._turns)}

        def packed(kept: Kept) -> Kept:
            outputs, turn = [*map(pack, kept.outputs)], index[id(kept.turn)]
            return msgspec.structs.replace(kept, outputs=outputs, turn=turn, on_trial=False)

        lost = [*self._lost, *self._lost_on_trial, *(self._trial or ())]
        accused = [] if self._accused is None else [[self._accused]]
        return PendingState(
            turns=[(turn.position, turn.given, turn.open) for turn in self._turns],
            kept={root: packed(kept) for root, kept in self._kept.items()},
            again=[*map(packed, self._again)],
            suspects=[[*map(packed, group)] for group in (lost, *self._groups, *accused)],
        )

    def restore(self, state: PendingState, unpack: Callable[[Any], Any]) -> None:
        """Goes on with what was pending elsewhere. `unpack` undoes what `pack` did."""
        for position, given, still_open in state.turns:
            turn = _Turn(position)
            turn.given, turn.open = given, still_open
            self._turns.append(turn)
            self._places.add(position)
            self._open += still_open
        turns = [*self._turns]

        def unpacked(kept: Kept) -> Kept:
            return msgspec.structs.replace(kept, outputs=[*map(unpack, kept.outputs)], turn=turns[kept.turn])

        self._kept = {root: unpacked(kept) for root, kept in state.kept.items()}
        self._again.extend(map(unpacked, state.again))
        self._lost, *self._groups = [[*map(unpacked, group)] for group in state.suspects]
        self._held = len(self._lost) + sum(map(len, self._groups))
