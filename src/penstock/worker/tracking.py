"""Tracking within a worker: which tree a task works on, and the book that its worker keeps of all of them.

A task says which tree it works on; whatever is put into its lanes meanwhile belongs to that one. See flow/ledger.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from penstock.flow.ledger import UNTRACKED, AckBook, News

if TYPE_CHECKING:
    from penstock.worker.lanes import Lane

__all__ = ["Keeper", "Tracking"]


class Tracking:
    """What one task works on."""

    __slots__ = ("book", "lanes", "marks_roots", "root")

    def __init__(self, book: AckBook, *, marks_roots: bool = False) -> None:
        self.book = book
        self.marks_roots = marks_roots
        """Whether markers tell which trees began before them."""
        self.lanes: list[Lane] = []
        """All that the task emits to."""
        self.root = UNTRACKED
        """The tree that is worked on."""

    def work_on(self, root: int) -> None:
        """What is emitted from now on belongs to this tree."""
        if root != self.root:
            for lane in self.lanes:
                if len(lane.tuples) != lane.rooted:
                    lane.end_run()
            self.root = root

    def leave(self) -> None:
        """What is emitted from now on belongs to no tree."""
        self.work_on(UNTRACKED)


class Keeper(Protocol):
    """A task that keeps trees: a spout, or a bolt whose outputs come of many tuples at once, as a batch bolt's do."""

    task: int
    keepers_after: int
    """How many bolts that keep trees what it emits can meet at most."""

    def hear_own(self, news: News | None) -> None:
        """Takes in what its own worker has to tell after a turn, which may be nothing."""

    def hear(self, news: News) -> None:
        """Takes in what another worker has to tell."""

    def marker_passed(self, epoch: int) -> None:
        """The marker of this epoch has passed everywhere: what is left of the trees before it is lost."""

    @property
    def open_trees(self) -> int:
        """How much is not known to be done of what it keeps trees of."""

    def hand_over(self) -> bytes | None:
        """All that it keeps, for another worker to go on with; None if it has to wait for it here."""

    def take_over(self, trees: bytes) -> None:
        """Goes on with what was kept elsewhere."""
