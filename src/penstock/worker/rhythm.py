"""What a bolt does by the clock: the worker notes when it is due, and the bolt does it when it has its turn."""

from __future__ import annotations

__all__ = ["Rhythm"]


class Rhythm:
    """One thing that is done every so often."""

    __slots__ = ("every_ns", "is_due")

    def __init__(self, every_s: float) -> None:
        self.every_ns = max(1, int(every_s * 1e9))
        self.is_due = False

    def take_due(self) -> bool:
        """Whether it is to be done now; whoever asks does it."""
        was_due, self.is_due = self.is_due, False
        return was_due
