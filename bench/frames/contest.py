"""The rounds in which they are measured, one after another, and before it the answers, which have to be right."""

from collections.abc import Sequence

import msgspec

from bench.frames.contestant import Contestant, Made, checksum
from bench.frames.readings import Readings
from bench.progress import Progress
from bench.rounds import interleaved
from bench.stats import Spread


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """What all of them are to do."""

    name: str
    contestants: tuple[Contestant, ...]
    by_spark: Made
    """The right answer, in Spark's own SQL."""


class Rate(msgspec.Struct, frozen=True, kw_only=True):
    """One contestant at one work."""

    name: str
    rows_per_s: Spread


class Contest:
    """Whoever fails is left out from then on, with the reason."""

    def __init__(self, progress: Progress, rounds: int) -> None:
        self.left_out: dict[str, str] = {}
        self._progress = progress
        self._rounds = rounds

    def rates(self, work: Work, readings: Readings) -> list[Rate]:
        """Rows/s of each, from the call to the last row made."""
        able = self._checked(work, readings)
        rates: dict[str, list[float]] = {one.name: [] for one in able}
        by_name = {one.name: one for one in able}
        for name, _ in interleaved(self._progress, work.name, list(by_name), ["rows/s"], self._rounds):
            rates[name].append(readings.rows / by_name[name].seconds(readings))
        return [Rate(name=name, rows_per_s=Spread.over(measured)) for name, measured in rates.items()]

    def _checked(self, work: Work, readings: Readings) -> Sequence[Contestant]:
        """Those whose answer is right. It is also their warm-up."""
        wanted = checksum(work.by_spark(readings.frame()))
        able = []
        with self._progress.stage(f"{work.name}, answers", len(work.contestants)) as step:
            for one in work.contestants:
                step(one.name)
                try:
                    got = one.checksum(readings)
                except Exception as error:  # of many kinds: from Spark, from the JVM, from Python on the executor
                    self.left_out[f"{work.name}: {one.name}"] = f"failed: {str(error)[:300]}"
                    continue
                if got == wanted:
                    able.append(one)
                else:
                    self.left_out[f"{work.name}: {one.name}"] = f"wrong answer: wanted {wanted}, got {got}"
        return able
