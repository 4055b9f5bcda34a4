"""What happened in a run that a person would want to know."""

from __future__ import annotations

from collections import deque

__all__ = ["Notices"]

_MOST = 100


class Notices:
    """The latest notices, oldest first."""

    def __init__(self) -> None:
        self._latest: deque[str] = deque(maxlen=_MOST)

    def add(self, text: str) -> None:
        """Keeps a notice; one that repeats the last is not kept."""
        if not self._latest or self._latest[-1] != text:
            self._latest.append(text)

    def all(self) -> tuple[str, ...]:
        """Those that are kept, oldest first."""
        return tuple(self._latest)
