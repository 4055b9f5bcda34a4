"""Whether to save all of a state this time, or only what has changed: keys, or rows that were added."""

from __future__ import annotations

__all__ = ["DeltaPolicy"]


class DeltaPolicy:
    """Keeps what has to be read for a restore below twice the state, and in few pieces.

    >>> policy = DeltaPolicy()
    >>> policy.wants_full(touched=1, keys=1000)  # there is nothing yet that a delta could build upon
    True
    >>> policy.wrote_full(50_000)
    >>> policy.wants_full(touched=1, keys=1000)
    False
    >>> policy.wrote_delta(50_001)
    >>> policy.wants_full(touched=1, keys=1000)
    True

    Args:
        most_deltas: how many may follow a full one.
    """

    def __init__(self, *, most_deltas: int = 16) -> None:
        self._most_deltas = most_deltas
        self._full_bytes: int | None = None
        self._delta_bytes = 0
        self._deltas = 0

    def wants_full(self, *, touched: int, keys: int) -> bool:
        """Whether to save all.

        Args:
            touched: how many keys were changed or taken away since the last part.
            keys: how many keys there are.
        """
        if self._full_bytes is None or touched >= keys:  # as large as all of it
            return True
        return self._deltas >= self._most_deltas or self._delta_bytes > self._full_bytes

    def wrote_full(self, size_bytes: int) -> None:
        """A full one is in its place: what was before it is not needed any more."""
        self._full_bytes = size_bytes
        self._delta_bytes = self._deltas = 0

    def wrote_delta(self, size_bytes: int) -> None:
        """A delta is in its place."""
        self._delta_bytes += size_bytes
        self._deltas += 1

    @property
    def written(self) -> tuple[int | None, int, int]:
        """What is in its place: the bytes of the full one, those of the deltas after it, and their number."""
        return self._full_bytes, self._delta_bytes, self._deltas

    def go_on_from(self, written: tuple[int | None, int, int]) -> None:
        """Another process has written the parts so far."""
        self._full_bytes, self._delta_bytes, self._deltas = written

    def start_anew(self) -> None:
        """The last part was lost, or the state was restored: nothing is known that a delta could build upon."""
        self._full_bytes = None
        self._delta_bytes = self._deltas = 0
