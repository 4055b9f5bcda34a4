"""Trees that a bolt keeps itself: of what it emits that comes of tuples of several trees at once.

Such an output belongs to a tree of the bolt's own, and the tuples that it comes of count as processed when that one is
complete, and as failed when it fails.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from penstock.flow.ledger import Ledger, News
from penstock.flow.runs import Runs
from penstock.transport.values import decode_value, encode_value
from penstock.worker.arrival import Marker
from penstock.worker.moved_trees import BoltTrees
from penstock.worker.tracking import Tracking

__all__ = ["LOST", "OwnTrees"]

_encode = msgspec.msgpack.Encoder().encode
_decode_trees = msgspec.msgpack.Decoder(BoltTrees).decode

LOST = "what came of it was lost on the way, or with a worker"


class OwnTrees:
    """The trees of one bolt task (a `penstock.worker.tracking.Keeper`)."""

    def __init__(self, *, task: int, component: str, keepers_after: int, tracking: Tracking) -> None:
        self.task = task
        self.keepers_after = keepers_after
        self._component = component
        self._tracking = tracking
        self._book = tracking.book
        self._ledger = Ledger(task, tracking.book.new_frame())
        self._given: dict[int, Sequence[tuple[Runs, int]]] = {}
        """By the root of our own tree, frame by frame: how many tuples of which trees went into it, and its number."""

    def begin(self, given: Sequence[tuple[Runs, int]]) -> int:
        """Starts a tree of what comes of these tuples, told frame by frame; returns its root."""
        root = self._ledger.begin()
        self._given[root] = given
        return root

    def kept_open(self, root: int, steps: Iterable[None]) -> Iterator[None]:
        """Goes through the steps of a call that emits into a tree, which is not complete before the last of them."""
        still_to_come = 0
        for _ in steps:
            if not still_to_come:  # the tree waits for it as for a frame
                still_to_come = self._book.new_frame()
                self._book.sent(((root, 1),), still_to_come)
            yield
        if still_to_come:
            self._book.processed(((root, 1),), still_to_come)

    @property
    def open_trees(self) -> int:
        """See Keeper."""
        return len(self._given)

    def hand_over(self) -> bytes | None:
        """See Keeper."""
        given = {
            root: [([*runs], encode_value(frame)) for runs, frame in frames] for root, frames in self._given.items()
        }
        return _encode(BoltTrees(ledger=self._ledger.state(), given=given))

    def take_over(self, trees: bytes) -> None:
        """See Keeper."""
        taken = _decode_trees(trees)
        self._ledger.restore(taken.ledger)
        self._given = {
            root: [(runs, decode_value(frame)) for runs, frame in frames] for root, frames in taken.given.items()
        }

    def give_up(self, root: int, component: str, reason: str, *, lost: bool = False) -> None:
        """A tree has failed, or a part of it was lost, and so it is with those that it comes of."""
        self._ledger.give_up(root)
        for runs, _ in self._given.pop(root, ()):
            for theirs, _ in runs:
                self._book.failed(theirs, component, reason, lost=lost)

    def hear_own(self, news: News | None) -> None:
        """See Keeper."""
        self._fail(news)
        self._complete(self._ledger.hear_own(news.sums if news else ()))

    def hear(self, news: News) -> None:
        """See Keeper."""
        self._fail(news)
        self._complete(self._ledger.hear(news.sums))

    def mark(self, marker: Marker) -> Marker:
        """A marker follows all trees so far: the one to pass on."""
        self._ledger.mark(marker.epoch)
        if not self._tracking.marks_roots:
            return marker
        newest_roots = {**marker.newest_roots, self.task: self._ledger.newest}
        return Marker(marker.epoch, ends=marker.ends, newest_roots=newest_roots)

    def marker_passed(self, epoch: int) -> None:
        """See Keeper."""
        for root in self._ledger.passed(epoch):
            self.give_up(root, self._component, LOST, lost=True)

    def _complete(self, roots: list[int]) -> None:
        for root in roots:
            for runs, frame in self._given.pop(root):
                self._book.processed(runs, frame)

    def _fail(self, news: News | None) -> None:
        for tree in news.failed if news else ():
            self.give_up(tree.root, tree.component, tree.reason, lost=tree.lost)
