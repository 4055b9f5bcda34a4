"""How long to wait before something that has failed is tried again, and when to give up. Pure."""

from __future__ import annotations

__all__ = ["FIRST_PAUSE_NS", "LONGEST_PAUSE_NS", "Backoff"]

FIRST_PAUSE_NS = 10_000_000
"""A hiccup is over by then, and whoever fails always does not keep a core busy."""

LONGEST_PAUSE_NS = 1_000_000_000
"""So soon it goes on when whatever it needs is back."""


class Backoff:
    """Consecutive failures of one thing: after each, the pause is twice as long as the one before.

    A success ends the row: begin the next one with a new `Backoff`.

    >>> backoff = Backoff(max_failures=3)
    >>> backoff.failed(now_ns=0)
    >>> backoff.is_waiting(FIRST_PAUSE_NS - 1), backoff.is_waiting(FIRST_PAUSE_NS)
    (True, False)
    >>> backoff.failed(now_ns=FIRST_PAUSE_NS)
    >>> backoff.is_hopeless
    False
    >>> backoff.failed(now_ns=4 * FIRST_PAUSE_NS)
    >>> backoff.is_hopeless
    True
    """

    __slots__ = ("_max_failures", "failures", "retry_at_ns")

    def __init__(self, *, max_failures: int) -> None:
        self._max_failures = max_failures
        self.failures = 0
        """How many there were, in a row."""
        self.retry_at_ns = 0
        """When to try again, by the clock that `failed` was told."""

    def failed(self, now_ns: int) -> None:
        """It has failed once more."""
        # The shift is bounded, so that a row without end does not make a number without end.
        pause_ns = min(LONGEST_PAUSE_NS, FIRST_PAUSE_NS << min(self.failures, 16))
        self.failures += 1
        self.retry_at_ns = now_ns + pause_ns

    def is_waiting(self, now_ns: int) -> bool:
        """Whether it is too early to try again."""
        return now_ns < self.retry_at_ns

    @property
    def is_hopeless(self) -> bool:
        """Whether that was often enough."""
        return self.failures >= self._max_failures
