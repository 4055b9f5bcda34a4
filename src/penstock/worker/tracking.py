"""Tracking within a worker: which tree a task works on, and the book that its worker keeps of all of them.

Where trees are tracked, every tuple carries its root behind its values, on the wire and in memory. A task says which
root it works on; lanes put it behind whatever is emitted meanwhile. See flow/ledger.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Protocol

from penstock.flow.ledger import UNTRACKED, AckBook, News

__all__ = ["Keeper", "Tracking", "root_of"]

root_of = attrgetter("_root")
"""The root of a tuple that has arrived."""


class Tracking:
    """What one task works on. `suffix` is the root as lanes append it."""

    __slots__ = ("book", "suffix")

    def __init__(self, book: AckBook) -> None:
        self.book = book
        self.suffix: tuple[int] = (UNTRACKED,)

    @property
    def root(self) -> int:
        """The tree that is worked on."""
        return self.suffix[0]

    def leave(self) -> None:
        """What is emitted from now on belongs to no tree."""
        self.suffix = (UNTRACKED,)


class Keeper(Protocol):
    """A task that keeps trees: a spout, or a batch bolt, whose outputs come of many tuples at once."""

    task: int
    batch_bolts_after: int
    """How many batch bolts what it emits can meet at most."""

    def hear_own(self, news: News | None) -> None:
        """Takes in what its own worker has to tell after a turn, which may be nothing."""

    def hear(self, news: News) -> None:
        """Takes in what another worker has to tell."""

    def marker_passed(self, epoch: int) -> None:
        """The marker of this epoch has passed everywhere: what is left of the trees before it is lost."""
