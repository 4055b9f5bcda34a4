"""Trees that a bolt keeps itself: of what it emits that comes of tuples of several trees at once.

Such an output belongs to a tree of the bolt's own, and the tuples that it comes of count as processed when that one is
complete, and as failed when it fails.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.flow.ledger import Ledger, News
from penstock.flow.runs import Runs
from penstock.worker.arrival import Marker
from penstock.worker.tracking import Tracking

__all__ = ["LOST", "OwnTrees"]

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

    def __len__(self) -> int:
        return len(self._given)

    def give_up(self, root: int, component: str, reason: str) -> None:
        """A tree has failed, and so have those that it comes of."""
        self._ledger.give_up(root)
        for runs, _ in self._given.pop(root, ()):
            for theirs, _ in runs:
                self._book.failed(theirs, component, reason)

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
            self.give_up(root, self._component, LOST)

    def _complete(self, roots: list[int]) -> None:
        for root in roots:
            for runs, frame in self._given.pop(root):
                self._book.processed(runs, frame)

    def _fail(self, news: News | None) -> None:
        for tree in news.failed if news else ():
            self.give_up(tree.root, tree.component, tree.reason)
