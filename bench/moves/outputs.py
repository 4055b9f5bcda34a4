"""Gaps and latencies, from what the sink has noted."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise

from bench.moves.journal import Output

Interval = tuple[int, int]
"""From one instant to another, in nanoseconds of the steady clock."""


def longest_gap_ms(outputs: Sequence[Output], intervals: Iterable[Interval]) -> float:
    """The longest time in which nothing came out of the task that was silent for longest.

    Each counting task by itself: else the outputs of one would hide the pause of another. A gap counts where it ends.
    Outputs come by arrival.
    """
    arrivals: defaultdict[int, list[int]] = defaultdict(list)
    for output in outputs:
        arrivals[output.counter].append(output.arrived_ns)
    spans = list(intervals)
    gaps = [
        later - earlier
        for times in arrivals.values()
        for earlier, later in pairwise(times)
        if any(begin <= later <= end for begin, end in spans)
    ]
    return max(gaps, default=0) / 1e6


def latencies_ms(outputs: Iterable[Output], intervals: Iterable[Interval]) -> list[float]:
    """How late each output was of those that were due in one of the intervals."""
    spans = list(intervals)
    return [
        (output.arrived_ns - output.due_ns) / 1e6
        for output in outputs
        if any(begin <= output.due_ns <= end for begin, end in spans)
    ]
