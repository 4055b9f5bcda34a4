"""How long broadcasts take, measured now and then, so that their tree can be chosen by that."""

from __future__ import annotations

from collections.abc import Callable, Collection

from penstock.flow.measured_costs import MeasuredCosts
from penstock.flow.tree_choice import TreeChoice
from penstock.transport.broadcast import Layout

__all__ = ["CastMeter"]

FOLLOW_FROM = 3
"""When so many frames were sent before everybody had one of them, they may have waited for each other."""

GIVES_UP_AFTER_NS = 5_000_000_000
"""Somebody who has not answered by then will not: it was lost, or what it said was."""


class _Question:
    """A frame that asks everybody who gets it to say so."""

    def __init__(self, number: int, size_bytes: int, at_ns: int, asked: Collection[int]) -> None:
        self.number = number
        self.size_bytes = size_bytes
        self.at_ns = at_ns
        self.waits_for = set(asked)
        self.followers = 0
        """How many frames were sent before everybody had this one."""


class CastMeter:
    """Measures one cast, and chooses its tree.

    Args:
        costs: what sending costs, learned by all casts of a worker together.
        now_ns: a steady clock.
    """

    def __init__(self, costs: MeasuredCosts, now_ns: Callable[[], int]) -> None:
        self._costs = costs
        self._choice = TreeChoice(costs)
        self._now_ns = now_ns
        self._question: _Question | None = None
        self._asks_at_ns = 0
        self._links: dict[int, bool] = {}
        """Whom we send to ourselves, and whether over a link."""

    def lay_out(self, layout: Layout) -> str:
        """The tree to use for these workers. A question that was asked along the last one is void."""
        self._question = None
        return self._choice.lay_out(layout)

    def sends_to(self, links: dict[int, bool]) -> None:
        """From now on we send to these ourselves, over a link or not."""
        self._links = links

    def wants_to_ask(self) -> bool:
        """Whether the frame that is about to be sent should ask."""
        now_ns = self._now_ns()
        if self._question is not None:
            self._question.followers += 1
            if now_ns - self._question.at_ns < GIVES_UP_AFTER_NS:
                return False
        return now_ns >= self._asks_at_ns

    def ask(self, number: int, size_bytes: int, members: Collection[int]) -> None:
        """The frame that is about to be sent asks these."""
        now_ns = self._now_ns()
        self._asks_at_ns = now_ns + 1000 * self._choice.asks_every_us
        self._question = _Question(number, size_bytes, now_ns, members)

    def timed_send(self, child: int, size_bytes: int, send: Callable[[], None]) -> None:
        """Sends to a child, and notes how long that took."""
        begun_ns = self._now_ns()
        send()
        self._costs.sent(size_bytes, (self._now_ns() - begun_ns) / 1000, link=self._links[child])

    def heard(self, worker: int, received: int) -> bool:
        """A member has everything before this number. Returns whether another tree should be used from now on."""
        question = self._question
        if question is None or received <= question.number or worker not in question.waits_for:
            return False
        us = (self._now_ns() - question.at_ns) / 1000
        question.waits_for.discard(worker)
        if worker in self._links:
            self._costs.answered(question.size_bytes, us, link=self._links[worker])
        if question.waits_for:
            return False
        self._question = None
        before = self._choice.current
        follow = question.followers >= FOLLOW_FROM
        return self._choice.measured(question.size_bytes, us, follow=follow) != before

    def lost(self, worker: int) -> None:
        """Nobody waits for the answer of one who is gone."""
        if self._question is not None and worker in self._question.waits_for:
            self._question = None
