"""All that one run of the benchmark has measured."""

import msgspec

from bench.moves.ledger import Ledger
from bench.moves.mover import Moved
from bench.stats import Distribution, Spread


class Stretch(msgspec.Struct, frozen=True, kw_only=True):
    """Some seconds of a run."""

    longest_gap_ms: float
    latency_ms: Distribution


class Steady(msgspec.Struct, frozen=True, kw_only=True):
    """One run at a steady rate, quiet and with moves by turns."""

    case: str
    quiet: list[Stretch]
    moving: list[Stretch]
    near_moves_ms: Distribution
    """Of what was due while a task moved, or shortly after."""
    moves: list[Moved]
    ledger: Ledger

    def longest_gap_ms(self, stretches: list[Stretch]) -> float:
        """Of all of them."""
        return max(stretch.longest_gap_ms for stretch in stretches)

    def p99_ms(self, stretches: list[Stretch]) -> Spread:
        """Over all of them."""
        return Spread.over(stretch.latency_ms.p99 for stretch in stretches)

    def p99_over_quiet(self) -> float:
        """With moves, over without."""
        return self.p99_ms(self.moving).median / self.p99_ms(self.quiet).median

    def move_ms(self) -> Distribution:
        """How long moves took, from the question to the answer."""
        return Distribution.of((move.done_ns - move.begun_ns) / 1e6 for move in self.moves)


class Restarted(msgspec.Struct, frozen=True, kw_only=True):
    """A run that was stopped and started again."""

    case: str
    gaps_s: list[float]
    """From the last output before to the first one after."""


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """Everything."""

    steady: list[Steady]
    restarted: list[Restarted]
