"""Tuple trees: has everything that came of a spout's tuple been processed? Pure.

Storm's acker keeps one number per tree, the XOR of a random number for every tuple, each of which comes twice: when the
tuple is sent, and when it is processed. When the number is zero, the tree is complete. Here the same is done per frame:

    a frame that holds n tuples of a tree, and has the random number f, adds n·f to the tree's sum when it is sent,
    and takes n·f away when its tuples have been processed (modulo 2^64).

So tracking costs per frame and tree, and not per tuple; the order in which news arrive does not matter; and what a
worker sends to itself cancels out before anybody is told. As f is odd, n·f is never zero by itself; that several of
them add up to zero by chance is as likely as for the XOR: one in 2^64.

The sums of a spout's trees are kept where the spout is, by a `Ledger`, and not by an acker elsewhere: that saves a
message per tree, and whoever loses a ledger has lost the spout, too, which then begins from its last position.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from penstock.flow.runs import Runs

__all__ = ["UNTRACKED", "AckBook", "FailedTree", "Ledger", "LedgerState", "News", "keeper_of"]

UNTRACKED = 0
"""The root of what belongs to no tree: ticks, and everything in a run without tracking."""

_SEQUENCE_BITS = 40
_MODULUS = 1 << 64
_MASK = _MODULUS - 1

Root = int


def keeper_of(root: Root) -> int:
    """The task whose ledger keeps a tree."""
    return root >> _SEQUENCE_BITS


class FailedTree(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A tree that will not complete, and why."""

    root: Root
    component: str
    """Where it failed."""
    reason: str
    lost: bool = False
    """Whether a part of it was lost. Else user code failed on it."""


class News(msgspec.Struct, array_like=True, gc=False):
    """What a worker tells the keeper of some trees."""

    sums: list[tuple[Root, int]]
    failed: list[FailedTree]


class AckBook:
    """What one worker has to tell about trees, since it last told. `next_frame` gives random 64-bit numbers."""

    def __init__(self, next_frame: Callable[[], int]) -> None:
        self._next_frame = next_frame
        self._sums: dict[Root, int] = {}
        self._failed: dict[Root, FailedTree] = {}

    def __len__(self) -> int:
        return len(self._sums) + len(self._failed)

    def new_frame(self) -> int:
        """The number of a frame that is about to be sent."""
        return self._next_frame() | 1

    def sent(self, runs: Runs, frame: int) -> None:
        """Counts a frame that is sent."""
        self._add(runs, frame)

    def processed(self, runs: Runs, frame: int) -> None:
        """Counts tuples of a frame as processed; what came of them is counted as sent before the news are taken."""
        self._add(runs, -frame)

    def _add(self, runs: Runs, frame: int) -> None:
        sums = self._sums
        for root, count in runs:
            if root:
                sums[root] = (sums.get(root, 0) + count * frame) & _MASK

    def shares(self, frame: int, count: int) -> list[int]:
        """Random numbers that add up to a frame's: for what was counted as one, and is to be processed in parts."""
        shares = [self._next_frame() for _ in range(count - 1)]
        return [*shares, frame - sum(shares)]

    def failed(self, root: Root, component: str, reason: str, *, lost: bool = False) -> None:
        """A tuple of a tree has failed, or was lost; the first reason counts."""
        if root and root not in self._failed:
            self._failed[root] = FailedTree(root, component, reason, lost)

    def take(self) -> dict[int, News]:
        """All the news, by the task that keeps the trees; from now on there is none."""
        sums, self._sums = self._sums, {}
        failed, self._failed = self._failed, {}
        news: dict[int, News] = {}
        for root, delta in sums.items():
            if delta and root not in failed:
                _for_keeper(news, root).sums.append((root, delta))
        for tree in failed.values():
            _for_keeper(news, tree.root).failed.append(tree)
        return news


def _for_keeper(news: dict[int, News], root: Root) -> News:
    keeper = root >> _SEQUENCE_BITS
    found = news.get(keeper)
    if found is None:
        found = news[keeper] = News([], [])
    return found


class LedgerState(msgspec.Struct, frozen=True, array_like=True):
    """A ledger, as it travels to another worker."""

    newest: Root
    sums: dict[Root, int]
    newest_at: dict[int, Root]


class Ledger:
    """The trees that one task keeps, from the oldest to the newest.

    `begin`, then what the own worker has to tell of it, then what others have to: the keeper's own news are always the
    first to be heard of a tree, so its sum is zero only when it is complete.

    Args:
        task: the task.
        chance: a random 64-bit number. Roots begin behind it, so that a task that was restarted does not call its trees
            what its predecessor called others, of which something may still be under way.
    """

    def __init__(self, task: int, chance: int = 0) -> None:
        self._newest: Root = task << _SEQUENCE_BITS | chance >> (64 - _SEQUENCE_BITS + 1)
        self._sums: dict[Root, int] = {}
        self._fresh: list[Root] = []
        self._newest_at: dict[int, Root] = {}

    def __len__(self) -> int:
        return len(self._sums)

    @property
    def newest(self) -> Root:
        """The root of the tree that was begun last."""
        return self._newest

    def begin(self) -> Root:
        """Starts a tree; returns its root, which its tuples carry."""
        self._newest += 1
        self._sums[self._newest] = 0
        self._fresh.append(self._newest)
        return self._newest

    def hear(self, sums: Iterable[tuple[Root, int]]) -> list[Root]:
        """Takes in news; returns the trees that are complete, and forgets them. News of other trees are too late."""
        complete = []
        kept = self._sums
        for root, delta in sums:
            before = kept.get(root)
            if before is None:
                continue
            after = (before + delta) & _MASK
            if after:
                kept[root] = after
            else:
                del kept[root]
                complete.append(root)
        return complete

    def hear_own(self, sums: Iterable[tuple[Root, int]]) -> list[Root]:
        """News of the own worker. A tree that was begun since and that they do not mention went nowhere: complete."""
        complete = self.hear(sums)
        fresh, self._fresh = self._fresh, []
        for root in fresh:
            if self._sums.get(root) == 0:
                del self._sums[root]
                complete.append(root)
        return complete

    def give_up(self, root: Root) -> bool:
        """Forgets a tree that has failed; False if it was not kept any more."""
        return self._sums.pop(root, None) is not None

    def mark(self, epoch: int) -> None:
        """A marker of this epoch follows all trees so far."""
        self._newest_at[epoch] = self._newest

    def passed(self, epoch: int) -> list[Root]:
        """The marker of this epoch has passed every task, and all news from before it were heard.

        So what is kept of the trees before it has been lost. Returns those, and forgets them.
        """
        marks = [mark for mark in self._newest_at if mark <= epoch]
        if not marks:
            return []
        newest = max(map(self._newest_at.__getitem__, marks))
        for mark in marks:
            del self._newest_at[mark]
        lost = []
        for root in self._sums:  # in the order of their beginning
            if root > newest:
                break
            lost.append(root)
        for root in lost:
            del self._sums[root]
        return lost

    def state(self) -> LedgerState:
        """All that is known, for the task to go on elsewhere; after `hear_own`, so that all trees are known of."""
        return LedgerState(self._newest, self._sums, self._newest_at)

    def restore(self, state: LedgerState) -> None:
        """Goes on with the trees that were begun elsewhere."""
        self._newest, self._sums, self._newest_at = state.newest, state.sums, state.newest_at
