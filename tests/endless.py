"""Numbers that come until the test tells them to end.

A test that waits for progress of a source with a fixed number of tuples fails on a busy machine, where that source may
have ended before the test looks. These go on, slowly, for as long as the test takes, and it knows afterwards how many
there were.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

from penstock.topology.spouts import Spout

__all__ = ["End", "Numbers", "NumbersUntilTold"]


class End:
    """Where a source ends. The test says when, and the source where; both through files in a folder."""

    def __init__(self, folder: Path) -> None:
        self._told = str(folder / "end-told")
        self._settled = str(folder / "end-settled")

    def tell(self, *, more: int = 0) -> None:
        """The source is to end, after so many more numbers, which come fast."""
        _put(self._told, more)

    @property
    def is_told(self) -> bool:
        return os.path.exists(self._told)  # noqa: PTH110 # asked at each call of a source

    def settled_at(self, next_number: int) -> int:
        """How many numbers there are in all, for a source that is told to end and has come so far.

        A source that is restarted behind that goes on to there. One that had been stopped and knows nothing of its heir
        may settle first, on less: whoever has come further has the last word.
        """
        try:
            settled = self.count
        except FileNotFoundError:
            settled = next_number + int(Path(self._told).read_text())
            _put(self._settled, settled, unless_there=True)
            settled = self.count
        if settled < next_number:
            settled = next_number
            _put(self._settled, settled)
        return settled

    @property
    def count(self) -> int:
        """How many numbers there were in all, when the source has ended."""
        return int(Path(self._settled).read_text())


def _put(file: str, number: int, *, unless_there: bool = False) -> None:
    """All at once: somebody looks for it."""
    draft = Path(f"{file}.{os.getpid()}")
    draft.write_text(str(number))
    if not unless_there:
        draft.rename(file)
        return
    try:
        Path(file).hardlink_to(draft)
    except FileExistsError:
        pass
    finally:
        draft.unlink()


class Numbers(Spout):
    """Counts to a number, not too fast."""

    fields = ("n",)
    at_once = 50

    def __init__(self, count: int, *, pause_s: float = 0.002) -> None:
        self.count = count
        self.pause_s = pause_s
        self.next_number = 0

    def next(self) -> Any:
        if self.next_number >= self.count:
            raise StopIteration
        time.sleep(self.pause_s)
        first, self.next_number = self.next_number, min(self.count, self.next_number + self.at_once)
        return [(number,) for number in range(first, self.next_number)]

    def position(self) -> int:
        return self.next_number

    def seek(self, position: int) -> None:
        self.next_number = position


class NumbersUntilTold(Numbers):
    """Counts slowly until it is told to end."""

    slow_pause_s = 0.05

    def __init__(self, end: End) -> None:
        super().__init__(sys.maxsize)
        self.end = end

    def next(self) -> Any:
        if self.count == sys.maxsize:
            if self.end.is_told:
                self.count = self.end.settled_at(self.next_number)
            else:
                time.sleep(self.slow_pause_s)
        return super().next()
