"""All that one run of the benchmark has measured."""

import msgspec

from bench.helping.account import Ledger
from bench.helping.pressure import Pressure
from bench.helping.simulated import Simulated
from bench.scheduling.window import Times
from bench.stats import Spread


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """One look at a run."""

    at_s: float
    per_s: float
    """What came to the end since the last look."""
    queues: dict[str, int]
    """What waits for each bolt."""
    pressure: Pressure


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One side in one round."""

    per_s: float
    """What came to the end within the window."""
    times: Times
    """From the spout to the end, within the window."""
    window_s: float
    settling: Pressure
    """Until the window began."""
    settled: Pressure
    """Within the window."""
    longest_queue: int
    ledger: Ledger
    moments: list[Moment]


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One row."""

    name: str
    most: float | None
    note: str
    rounds: dict[str, list[Sample]]
    """By side, what others are compared with first; rounds in order."""

    @property
    def baseline(self) -> str:
        """What others are compared with."""
        return next(iter(self.rounds))

    def over_baseline(self, side: str) -> Spread:
        """Throughput over that of the baseline in the same round."""
        return Spread.over(
            sample.per_s / plain.per_s
            for sample, plain in zip(self.rounds[side], self.rounds[self.baseline], strict=True)
        )

    def sooner_than_baseline(self, side: str) -> Spread:
        """Median latency of the baseline in the same round over that of a side: above 1 is better."""
        return Spread.over(
            plain.times.p50_ms / sample.times.p50_ms
            for sample, plain in zip(self.rounds[side], self.rounds[self.baseline], strict=True)
        )

    def typical(self, side: str) -> Sample:
        """The sample of the median throughput: a whole one, because medians of parts do not add up."""
        samples = sorted(self.rounds[side], key=lambda sample: sample.per_s)
        return samples[(len(samples) - 1) // 2]


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """Everything."""

    cells: list[Cell]
    simulated: list[Simulated]

    def cell(self, name: str) -> Cell | None:
        """The row of that name; None if it was not measured."""
        return next((cell for cell in self.cells if cell.name == name), None)

    def samples(self) -> list[Sample]:
        """Of all rows, sides and rounds."""
        return [sample for cell in self.cells for samples in cell.rounds.values() for sample in samples]
