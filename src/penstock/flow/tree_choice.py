"""Which tree a broadcast should take: predicted from what sending costs, then tried, and kept as long as it is best.

The model knows the layout, the size of the messages and what rings and links cost; it puts the trees in an order and
rules out those that cannot be good. It does not know how many cores there are, who else uses them, or what a receiver
does beside: so those that may be good are tried, one after another, a few messages each, and how long it took until
everybody had them decides. What is best for a small message is not for a large one, and when messages follow each
other so fast that they wait for each other it is not the same either: each of these situations is learned by itself.
Pure.
"""

from __future__ import annotations

from collections import deque
from statistics import median

from penstock.flow.measured_costs import MeasuredCosts
from penstock.transport.broadcast import TREES, Layout
from penstock.transport.broadcast_cost import Costs, bottleneck_us, latency_us

__all__ = ["TreeChoice"]

TRIALS = 5
"""How many measurements decide about a tree."""

TRIALS_OF_MANY = 2
"""The same where messages follow each other, and each measurement is about all that was under way."""

LEARNS_EVERY_US = 10_000
WATCHES_EVERY_US = 100_000
"""How often it is worth measuring: while trees are tried, and when one has been chosen."""

HOPELESS = 5.0
"""A tree that is predicted to take so many times as long as the best is not tried."""

BETTER = 0.95
"""A tree has to be so much better for a change: changes cost something, too."""

WORSE = 1.6
"""When the tree in use takes so many times as long as when it was chosen, all are tried again."""

LOOKS_AGAIN_AFTER = 100
"""Measurements, after which the second best has another trial."""


class _Situation:
    """What is known of one kind of messages: how the trees did, and which is used."""

    def __init__(self, candidates: list[str], *, follow: bool) -> None:
        self._trials = TRIALS_OF_MANY if follow else TRIALS
        # Right after a change, the change is measured: first nothing waits, then all that did comes at once.
        self._skips = 2 if follow else 1
        self.current = candidates[0]
        self.untried = candidates[1:]
        self.measured: dict[str, deque[float]] = {name: deque(maxlen=self._trials) for name in candidates}
        self.settled_at: float | None = None
        self.since_settled = 0
        self._to_skip = self._skips

    def add(self, score: float) -> None:
        """Takes in how the current tree did, and decides which is used from now on."""
        if self._to_skip:
            self._to_skip -= 1
            return
        scores = self.measured[self.current]
        scores.append(score)
        self.since_settled += 1
        if len(scores) < self._trials:
            return
        if self.untried:
            self._try(self.untried.pop(0))
        elif self.settled_at is None:
            self._settle()
        elif median(scores) > WORSE * self.settled_at and len(self.measured) > 1:
            self._try_all()
        elif self.since_settled >= LOOKS_AGAIN_AFTER and len(self.measured) > 1:
            self._try(self._ranked()[1])

    def _try(self, name: str) -> None:
        self.current = name
        self.measured[name].clear()
        self.settled_at = None
        self._to_skip = self._skips

    def _try_all(self) -> None:
        self.untried = self._ranked()
        self._try(self.untried.pop(0))

    def _settle(self) -> None:
        best = self._ranked()[0]
        if best != self.current and median(self.measured[best]) > BETTER * median(self.measured[self.current]):
            best = self.current
        self._to_skip = self._skips if best != self.current else 0
        self.current = best
        self.settled_at = median(self.measured[best])
        self.since_settled = 0

    def _ranked(self) -> list[str]:
        """From the best to the worst, as far as is known."""
        return sorted(self.measured, key=lambda name: median(self.measured[name] or [float("inf")]))


class TreeChoice:
    """Chooses for one cast.

    Args:
        costs: what is known of rings and links, shared by all casts of a worker.
    """

    def __init__(self, costs: MeasuredCosts) -> None:
        self._costs = costs
        self._layout = Layout(0, ((0,),))
        self._size_bytes = 0
        self._situations: dict[tuple[int, bool], _Situation] = {}
        self._key = self._last_key = (-1, False)
        self.current = "flat"
        """The name of the tree to use."""

    def lay_out(self, layout: Layout) -> str:
        """Workers came or went: what was learned does not hold any more. Returns the tree to begin with."""
        if layout != self._layout:
            self._layout = layout
            self._situations.clear()
            self._key = self._last_key = (-1, False)
            self.current = self._candidates(follow=False)[0]
        return self.current

    def measured(self, size_bytes: int, us: float, *, follow: bool) -> str:
        """It took so long until everybody had a message of this size. Returns the tree to use from now on.

        When messages `follow` each other so fast that several are under way, they may wait for each other. As what is
        under way is bounded, the tree on which one of them takes least is then the one that lets most of them through.
        """
        key = (size_bytes.bit_length() // 2, follow)
        is_steady, self._last_key = key == self._last_key, key
        if not is_steady:  # one message of another size is not worth a change
            return self.current
        self._key, self._size_bytes = key, size_bytes
        situation = self._situations.get(key)
        if situation is None:
            situation = self._situations[key] = _Situation(self._candidates(follow=follow), follow=follow)
        elif situation.current == self.current:
            situation.add(us)
        self.current = situation.current
        return self.current

    @property
    def asks_every_us(self) -> int:
        """How often it is worth measuring just now."""
        situation = self._situations.get(self._key)
        is_settled = situation is not None and situation.settled_at is not None
        return WATCHES_EVERY_US if is_settled else LEARNS_EVERY_US

    def _candidates(self, *, follow: bool) -> list[str]:
        """The trees that may be good, the best first. Where there are few workers, several are the same: once each."""
        costs: Costs = self._costs.costs.of(self._size_bytes)
        cost_of = bottleneck_us if follow else latency_us
        shapes: dict[tuple[tuple[int, tuple[int, ...]], ...], tuple[float, str]] = {}
        for name, build in TREES.items():
            tree = build(self._layout)
            shapes.setdefault(tuple(sorted(tree.items())), (cost_of(self._layout, tree, costs), name))
        ranked = sorted(shapes.values())
        return [name for cost, name in ranked if cost <= HOPELESS * ranked[0][0]]
