"""The other way to another assignment: stop, and start again from the checkpoint."""

import tempfile
import time
from itertools import pairwise
from typing import Any

from bench.moves.journal import read_journals
from bench.moves.lines import SPOUTS, Lines
from bench.moves.measured import Restarted
from bench.moves.plan import LINES_PER_S, Case
from bench.moves.steady import await_words, started

_BEFORE_S = 3.0
# No run is to end by itself, as long as it takes to stop and start.
_LONG_S = 600.0


def restart(spark: Any, case: Case, restarts: int) -> Restarted:
    """Stops and starts the same word count in the same session, so many times."""
    lines = Lines(case.words, int(_LONG_S * LINES_PER_S / SPOUTS))
    stopped_ns = []
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        for number in range(restarts + 1):
            with started(spark, case, lines, folder) as run:
                if number == 0:
                    await_words(run, lines)
                time.sleep(_BEFORE_S)
                stopped_ns.append(time.monotonic_ns())
        arrivals = [output.arrived_ns for output in read_journals(folder)]
    gaps = [(later - earlier, later) for earlier, later in pairwise(arrivals)]
    windows = pairwise(stopped_ns)
    longest = [max(gap for gap, later in gaps if begin < later <= end) for begin, end in windows]
    return Restarted(case=case.name, gaps_s=[gap / 1e9 for gap in longest])
