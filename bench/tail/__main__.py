"""`python -m bench.tail [--seconds 60] [--picture FILE]`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

import penstock as ps
from bench.machine import describe_machine
from bench.stats import Distribution
from bench.tail.reasons import REASONS, Held, held, worst
from bench.tail.topology import run

RATE_PER_S = 1_000
WARM_UP_S = 3.0
WORST = 10
APART_S = 0.2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chain, and say what held its ten slowest tuples."""
    options = _parser().parse_args(arguments)
    warm_up = int(WARM_UP_S * RATE_PER_S)
    ps.local_session(workers=3)
    done = run(RATE_PER_S, warm_up + int(options.seconds * RATE_PER_S))
    tuples = held(done.stamps_ns, done.tasks, done.steal, warm_up)
    slowest = worst(tuples, WORST, int(APART_S * RATE_PER_S))
    spread = Distribution.of([one.latency_us for one in tuples])
    shown = f"p50 {spread.p50:,.0f} µs, p99 {spread.p99:,.0f}, p99.9 {spread.p999:,.0f}, worst {spread.highest:,.0f}"
    print(f"{len(tuples):,} tuples at {RATE_PER_S:,}/s on {describe_machine().text}: {shown}")
    Console(width=None if sys.stdout.isatty() else 120).print(_table(slowest))
    if options.picture is not None:
        from bench.tail.picture import draw  # what measures need not be able to draw

        print(f"Wrote {draw(slowest, f'The ten slowest of {len(tuples):,} tuples ({shown})', options.picture)}")
    return 0


def _table(slowest: Sequence[Held]) -> Table:
    table = Table("tuple", "µs", "to be emitted", "into b", "into c", *REASONS)
    for one in slowest:
        figures = (one.latency_us, *one.hops_us, *(one.reasons_us[reason] for reason in REASONS))
        table.add_row(f"{one.number:,}", *(f"{figure:,.0f}" for figure in figures))
    return table


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.tail", description="What held the slowest tuples.")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to look (60)")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw the ten worst there, as PNG")
    return parser


if __name__ == "__main__":
    sys.exit(main())
