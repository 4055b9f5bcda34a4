"""`python -m bench NAME [--quick] [--json] [--out DIR]`."""

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from bench.machine import describe_machine
from bench.progress import Progress
from bench.report import Report, show
from bench.settings import RunSettings

# Modules are imported when asked for, so that what one benchmark needs is no burden to another.
BENCHMARKS = {
    "backlog": "bench.backlog.benchmark",
    "broadcast": "bench.broadcast.benchmark",
    "frames": "bench.frames.benchmark",
    "helping": "bench.helping.benchmark",
    "ipc": "bench.ipc.benchmark",
    "monitor": "bench.monitor.benchmark",
    "moves": "bench.moves.benchmark",
    "overhead": "bench.overhead.benchmark",
    "paths": "bench.paths.benchmark",
    "recovery": "bench.recovery.benchmark",
    "scheduling": "bench.scheduling.benchmark",
    "wordcount": "bench.wordcount.benchmark",
}

_LOG_COLUMNS = 140


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one benchmark, show its tables, save its plots."""
    options = _parser().parse_args(arguments)
    out: Path = options.out or Path("build/bench") / options.name
    out.mkdir(parents=True, exist_ok=True)
    benchmark = importlib.import_module(BENCHMARKS[options.name])
    machine = describe_machine()  # before we make it busy ourselves
    with Progress(sys.stderr) as progress:
        outcome = benchmark.run(RunSettings(quick=options.quick, out=out, progress=progress))
    report = Report(bench=options.name, machine=machine, outcome=outcome)
    (out / "report.json").write_text(report.to_json() + "\n")
    (out / "report.md").write_text(report.to_markdown())
    # Where there is no terminal to ask, a log is taken to be wide enough for the tables.
    show(report, Console(width=None if sys.stdout.isatty() else _LOG_COLUMNS))
    print(f"Saved in {out}: report.json, report.md" + "".join(f", {plot.name}" for plot in outcome.plots))
    if options.json:
        print(report.to_json())
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Penstock and its peers, side by side.")
    parser.add_argument("name", choices=sorted(BENCHMARKS), help="the benchmark to run")
    parser.add_argument("--quick", action="store_true", help="a small subset, in less than a minute")
    parser.add_argument("--json", action="store_true", help="print the report as one JSON object on the last line")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where plots and reports go (build/bench/NAME)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
