"""What is lost or doubled: of the outputs that were noted, by their numbers, and of the counts at the end, by word."""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from bench.moves.journal import Output
from bench.moves.lines import Lines


class Ledger(msgspec.Struct, frozen=True, kw_only=True):
    """How many of what there should be."""

    outputs: int
    lost_outputs: int
    doubled_outputs: int
    lost_counts: int
    doubled_counts: int

    @property
    def lost(self) -> int:
        """Of both."""
        return self.lost_outputs + self.lost_counts

    @property
    def doubled(self) -> int:
        """Of both."""
        return self.doubled_outputs + self.doubled_counts


def checked(lines: Lines, outputs: Iterable[Output], counts: Mapping[int, int]) -> Ledger:
    """Compares what came out, and what was counted, with what should be."""
    wanted = lines.all_numbers()
    found = Counter(output.number for output in outputs)
    expected = dict(lines.counts())
    differences = [counts.get(word, 0) - expected.get(word, 0) for word in counts.keys() | expected.keys()]
    return Ledger(
        outputs=len(wanted),
        lost_outputs=sum(number not in found for number in wanted),
        doubled_outputs=sum(found.values()) - sum(number in found for number in wanted),
        lost_counts=-sum(difference for difference in differences if difference < 0),
        doubled_counts=sum(difference for difference in differences if difference > 0),
    )


def read_counts(folder: str) -> dict[int, int]:
    """The counts that all tasks have left. A word that two of them had counts as both say."""
    counts: Counter[int] = Counter()
    for path in Path(folder).glob("counts-*"):
        for word, count in msgspec.msgpack.decode(path.read_bytes()).items():
            counts[int(word)] += count
    return dict(counts)
