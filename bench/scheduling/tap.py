"""How fast spouts emit: a number in a file, which can be changed while they run.

All nodes of a box see the files of one machine. Standard library only: it travels to workers.
"""

from pathlib import Path

_LOOK_EVERY_NS = 100_000_000
# What could not be emitted within this time is forgotten: the source is one that does not wait.
_DEBT_NS = 100_000_000
_AT_ONCE = 64


class Tap:
    """The benchmark's end."""

    def __init__(self, folder: str) -> None:
        self.file = str(Path(folder, "tuples-per-s"))
        self.turn(0.0)

    def turn(self, per_s: float) -> None:
        """From now on each spout task emits so many tuples a second."""
        draft = Path(f"{self.file}.draft")
        draft.write_text(repr(per_s))
        draft.rename(self.file)  # nobody reads half a number


class Pace:
    """A spout's end: how many tuples are due."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.per_s = 0.0
        self.look_at_ns = 0
        self.next_ns = 0.0

    def due(self, now_ns: int) -> int:
        """How many tuples to emit now. They count as emitted."""
        if now_ns >= self.look_at_ns:
            self.look_at_ns = now_ns + _LOOK_EVERY_NS
            per_s = float(Path(self.file).read_text())
            if per_s != self.per_s:
                self.per_s, self.next_ns = per_s, now_ns
        if self.per_s <= 0 or now_ns < self.next_ns:
            return 0
        gap_ns = 1e9 / self.per_s
        self.next_ns = max(self.next_ns, now_ns - _DEBT_NS)
        count = min(_AT_ONCE, 1 + int((now_ns - self.next_ns) / gap_ns))
        self.next_ns += count * gap_ns
        return count
