"""What a spout has emitted and what is not known to be processed yet: kept to be emitted again. Pure.

Outputs are kept in the order of emission, those that share a tree together, with the position that the spout had before
them. What lies before the oldest of them is done: a spout that is started anew goes on from there.

What was emitted together is emitted again one by one: only one of them may be to blame.

An output that is lost may be what killed the worker that it was lost with, or one of thousands that were there by
chance. So one that was lost twice is a *suspect*: it is emitted again by itself, when nothing else is under way, and
nothing else until it is done. If it is lost once more, and alone, that counts against it; an innocent one is done with
in a moment.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import dropwhile
from typing import Any

import msgspec

__all__ = ["Kept", "Pending"]


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
    alone: bool = False
    """Whether nothing else was under way when it was emitted."""


class Pending:
    """The outputs of one spout task, by the root of their trees.

    Args:
        most: how many there may be; a spout is not asked for more.
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
        self._again: deque[Kept] = deque()
        self._suspects: deque[Kept] = deque()
        self._tested: int | None = None

    def __len__(self) -> int:
        return self._open

    @property
    def room(self) -> int:
        """How many more outputs there may be; none while there are suspects."""
        return 0 if self._suspects or self._tested is not None else self._most - self._open

    def begin_turn(self, position: Any) -> None:
        """The spout is about to be asked, and is at this position."""
        turns = self._turns
        while turns and not turns[0].open:
            turns.popleft()
        if turns and not turns[-1].open:  # nothing came of the last one
            turns[-1].position = position
        else:
            turns.append(_Turn(position))

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
        if kept.alone:
            self._tested = root

    def take_again(self) -> Kept | None:
        """The next output that is to be emitted again."""
        if self._again:
            return self._again.popleft()
        if self._suspects and not self._kept:
            kept = self._suspects.popleft()
            kept.alone = True
            return kept
        return None

    def done(self, root: int) -> list[Any]:
        """The tree is complete, or the spout looks after it itself; returns the outputs, which are forgotten."""
        kept = self._taken(root)
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
        kept = self._taken(root)
        if len(kept.outputs) > 1:
            # One of them at least failed, and nobody knows which: that counts, but not as the last straw.
            failures = 0 if lost else min(1, self._max_tries - 1)
            each = (Kept([output], kept.turn, kept.tries, failures, losses=int(lost)) for output in kept.outputs)
            self._again.extend(each)
            return None
        kept.losses += lost
        if not lost:
            kept.failures += 1
        elif kept.alone:
            kept.failures = max(kept.failures + 1, kept.losses)
        kept.alone = False
        if kept.failures >= self._max_tries:
            self._forget(kept)
            return kept
        (self._suspects if kept.losses > 1 else self._again).append(kept)
        return None

    def _forget(self, kept: Kept) -> None:
        kept.turn.open -= len(kept.outputs)
        self._open -= len(kept.outputs)

    def _taken(self, root: int) -> Kept:
        if root == self._tested:
            self._tested = None
        return self._kept.pop(root)

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
