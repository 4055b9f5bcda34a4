"""What passes the three processes: a stamp and a text, 100 bytes on the wire; and the loop that paces it."""

import time
from collections.abc import Callable, Iterator

BODY = "x" * 88
"""With nine bytes of stamp, two of length and one of frame around them: 100 bytes as msgpack."""

_CLOCK = time.monotonic_ns


class Pacer:
    """Says when the next tuple is due; the clock is CLOCK_MONOTONIC, which all processes of a machine share.

    The stamp of a tuple is the moment at which it was due. If its source slept for it, it is when the source woke up:
    oversleeping is not counted. But the time it waited for a source that was busy with others is part of its latency.
    """

    def __init__(self, rate_per_s: int, count: int, clock: Callable[[], int] = _CLOCK) -> None:
        """Tuple 0 is due now."""
        self.left = count
        self._rate_per_s = rate_per_s
        self._clock = clock
        self._started_ns = self._woke_ns = clock()
        self._passed = 0

    def wait_s(self) -> float:
        """How long until the next tuple is due; 0 if it is."""
        return max(0, self._due_ns() - self._clock()) / 1e9

    def woke(self) -> None:
        """To be called after having slept."""
        self._woke_ns = self._clock()

    def stamp_ns(self) -> int:
        """The stamp of the tuple that is emitted now."""
        stamp_ns = max(self._due_ns(), self._woke_ns)
        self._passed += 1
        self.left -= 1
        return stamp_ns

    def _due_ns(self) -> int:
        return self._started_ns + self._passed * 1_000_000_000 // self._rate_per_s


def paced_stamps(rate_per_s: int, count: int, sleep: Callable[[float], None] = time.sleep) -> Iterator[int]:
    """The stamps of so many tuples, each when it is due."""
    pacer = Pacer(rate_per_s, count)
    while pacer.left:
        wait_s = pacer.wait_s()
        if wait_s:
            sleep(wait_s)
            pacer.woke()
        yield pacer.stamp_ns()
