"""Whose outgoing queue goes next when the way out is congested: largest backlog first, and what it is measured against.

Each task of an operator has a queue of what it has emitted and what could not be sent yet. Whenever something can be
sent, a policy names the queue that it is taken from. The worker and the simulations run the same policies.

    fifo          whoever has waited longest, as if there was one queue
    round_robin   one after the other
    lbf           the queue with most tuples in it (Hone's algorithm 1)

All of them are work-conserving: only queues are named in which something waits. Among equals, who has waited longest
goes first, so that nothing is left to chance.

Where Hone is mended:

- By its equation (1) what arrives in a slot can leave in the same slot, but algorithm 1 looks at what was there before
  the arrivals. With all queues empty it would name any queue, and let a slot pass in which a tuple could have gone.
  Here the policy looks at what can be sent, arrivals included.
- Its round robin gives empty queues their slot, too, and lets it pass. That alone makes most of the difference that is
  shown: by Little's law all work-conserving policies have the same average delay, if tuples are alike. Here the next
  queue that is not empty has its turn; the bench shows both.
- Its theorem 2 (any on-line algorithm is N-competitive) is an upper bound for all of them, as long as they are
  work-conserving. It is no lower bound, and says nothing of how good the bound of theorem 1 is.
- Algorithm 1 lets a small queue wait for ever, as long as others are larger. A marker in there would keep a checkpoint
  from completing. Here whoever has waited longest is passed over `PASSED_OVER_AT_MOST` times for each queue that there
  is, and then has a turn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal, Protocol

__all__ = [
    "PASSED_OVER_AT_MOST",
    "Fifo",
    "LargestBacklogFirst",
    "OutgoingPolicy",
    "Policy",
    "RoundRobin",
    "Stints",
    "policy_of",
]

OutgoingPolicy = Literal["fifo", "round_robin", "lbf"]
"""The policies by name."""

PASSED_OVER_AT_MOST = 16
"""How often the longest wait is passed over by larger backlogs, for each queue in which something waits."""


class Policy(Protocol):
    """Says which queue goes next."""

    def choose(self, backlog: Mapping[int, int], since: Mapping[int, int], now_ns: int) -> int:
        """The queue that what is sent next is taken from.

        Args:
            backlog: how many tuples wait, for each queue in which something waits; there is at least one.
            since: a number for the first of each queue that grows from arrival to arrival.
            now_ns: by a clock that never goes back.
        """


class Fifo:
    """Whoever has waited longest."""

    def choose(self, backlog: Mapping[int, int], since: Mapping[int, int], now_ns: int) -> int:  # noqa: ARG002
        """See Policy."""
        return min(backlog, key=since.__getitem__)


class RoundRobin:
    """One queue after the other, by their numbers, leaving out those that are empty."""

    def __init__(self) -> None:
        self._last: float = -math.inf

    def choose(self, backlog: Mapping[int, int], since: Mapping[int, int], now_ns: int) -> int:  # noqa: ARG002
        """See Policy."""
        later = [queue for queue in backlog if queue > self._last]
        chosen = min(later or backlog)
        self._last = chosen
        return chosen


class LargestBacklogFirst:
    """The queue with most tuples in it; now and then the one that has waited longest."""

    def __init__(self) -> None:
        self._oldest = -1
        self._passed_over = 0

    def choose(self, backlog: Mapping[int, int], since: Mapping[int, int], now_ns: int) -> int:  # noqa: ARG002
        """See Policy."""
        longest_wait = min(backlog, key=since.__getitem__)
        if since[longest_wait] != self._oldest:
            self._oldest = since[longest_wait]
            self._passed_over = 0
        # It stays the oldest until it goes, so a single count is enough to bound what anybody waits.
        if self._passed_over >= PASSED_OVER_AT_MOST * len(backlog):
            return longest_wait
        most = max(backlog.values())
        chosen = min((queue for queue, tuples in backlog.items() if tuples == most), key=since.__getitem__)
        self._passed_over += chosen != longest_wait
        return chosen


class Stints:
    """A policy that is asked once in an interval: who was chosen goes on until then, or until its queue is empty.

    Args:
        policy: is asked.
        interval_ns: Hone's τ; 0 asks for each frame.
    """

    def __init__(self, policy: Policy, interval_ns: int) -> None:
        self._policy = policy
        self._interval_ns = interval_ns
        self._chosen: int | None = None
        self._until_ns = 0

    def choose(self, backlog: Mapping[int, int], since: Mapping[int, int], now_ns: int) -> int:
        """See Policy."""
        if self._chosen is None or self._chosen not in backlog or now_ns >= self._until_ns:
            self._chosen = self._policy.choose(backlog, since, now_ns)
            self._until_ns = now_ns + self._interval_ns
        return self._chosen


def policy_of(name: OutgoingPolicy, *, interval_ns: int) -> Policy:
    """A policy by its name, with a state of its own. `fifo` knows no interval."""
    match name:
        case "fifo":
            return Fifo()
        case "round_robin":
            return Stints(RoundRobin(), interval_ns)
        case "lbf":
            return Stints(LargestBacklogFirst(), interval_ns)
