"""Pure: the samples of two sides in, a verdict out.

A round gives a sample of each side, taken one after the other, so that what else the machine does falls on both: the
ratio of the two is what is judged. Above 1 is slower, whatever the metric.

The estimate is the Hodges-Lehmann one, the median of all pairwise averages, of the logarithms: it shrugs off single
wild rounds as a median does, and needs a third fewer rounds for the same confidence. The interval around it is the one
of Wilcoxon's signed ranks: exact for any symmetric noise and for as few as five rounds, where a bootstrap has little to
draw from, and the same each time it is computed.

A slip needs both: an estimate past the limit, and an interval that begins past `sure`, by default past "no slower at
all". To ask for an interval that is past the limit itself would let a slowdown of twice the limit through on most
days; to ask for the estimate alone would turn every noisy metric red now and then. What is not clear after a few rounds
gets more of them, up to a most. Before that, only what is clear by the interval alone ends the matter.
"""

import math
import statistics
from collections.abc import Sequence
from enum import Enum
from itertools import combinations_with_replacement

import msgspec

_ONE_SIDED_ERROR = 0.05


class Verdict(Enum):
    """What the rounds so far say."""

    SLIP = "slip"
    CLEAR = "clear"
    OPEN = "open"
    """More rounds may tell."""


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """What is compared, and what counts as a slip."""

    name: str
    more_is_better: bool
    limit: float
    """How many times as slow is too slow."""
    sure: float = 1.0
    """What the interval has to be past, for the slip to be believed."""


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one metric."""

    metric: Metric
    base: float
    candidate: float
    """Medians of the samples."""
    slowdown: float
    low: float
    high: float
    rounds: int
    verdict: Verdict


def judge(metric: Metric, base: Sequence[float], candidate: Sequence[float], *, last: bool) -> Judgement:
    """Judge samples of as many rounds, the same round at the same place; with `last`, nothing stays open."""
    low, slowdown, high = interval(slowdowns(metric, base, candidate))
    if low > max(metric.limit, metric.sure):
        verdict = Verdict.SLIP  # whatever comes
    elif high <= metric.limit:
        verdict = Verdict.CLEAR
    elif not last:
        verdict = Verdict.OPEN
    else:
        verdict = Verdict.SLIP if slowdown > metric.limit and low > metric.sure else Verdict.CLEAR
    return Judgement(
        metric=metric,
        base=statistics.median(base),
        candidate=statistics.median(candidate),
        slowdown=slowdown,
        low=low,
        high=high,
        rounds=len(base),
        verdict=verdict,
    )


def slowdowns(metric: Metric, base: Sequence[float], candidate: Sequence[float]) -> list[float]:
    """Round by round, how many times as slow the candidate was."""
    pairs = zip(base, candidate, strict=True)
    return [ours / new if metric.more_is_better else new / ours for ours, new in pairs]


def interval(ratios: Sequence[float]) -> tuple[float, float, float]:
    """The low end, the estimate and the high end for at least one positive ratio."""
    logs = [math.log(ratio) for ratio in ratios]
    averages = sorted((one + other) / 2 for one, other in combinations_with_replacement(logs, 2))
    skipped = _skipped(len(ratios))
    low, estimate, high = averages[skipped], statistics.median(averages), averages[-1 - skipped]
    return math.exp(low), math.exp(estimate), math.exp(high)


def _skipped(rounds: int) -> int:
    """How many averages can be left out at each end: as many as a signed-rank sum is hardly ever below.

    With fewer than five rounds, not even all of them together are sure enough; then it is all there is.
    """
    # How many of the 2^n ways to sign the ranks 1..n have each sum.
    ways = [1]
    for rank in range(1, rounds + 1):
        ways = [
            (ways[total] if total < len(ways) else 0) + (ways[total - rank] if total >= rank else 0)
            for total in range(len(ways) + rank)
        ]
    below = skipped = 0
    for total, count in enumerate(ways):
        below += count
        if below > _ONE_SIDED_ERROR * 2**rounds:
            break
        skipped = total
    return skipped
