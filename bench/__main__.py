"""`python -m bench NAME [--quick] [--json] [--keep] [--out DIR]`, and `all`, `page` and `status`."""

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from bench import results
from bench.catalogue import BENCHMARKS
from bench.history import History
from bench.machine import describe_machine
from bench.page import PAGE, make_page
from bench.progress import Progress
from bench.report import Report, show
from bench.series import run_all
from bench.settings import RunSettings
from bench.status import status_table

_LOG_COLUMNS = 140


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line asks for."""
    options = _parser().parse_args(arguments)
    match options.name:
        case "all":
            return run_all(list(BENCHMARKS), resume=options.resume, quick=options.quick)
        case "page":
            PAGE.write_text(make_page())
            print(f"Wrote {PAGE}")
            return 0
        case "status":
            _console().print(status_table(History()))
            return 0
        case _:
            return _run(options)


def _run(options: argparse.Namespace) -> int:
    """Run one benchmark, show its tables, save its plots."""
    out: Path = options.out or Path("build/bench") / options.name
    out.mkdir(parents=True, exist_ok=True)
    benchmark = importlib.import_module(BENCHMARKS[options.name])
    machine = describe_machine()  # before we make it busy ourselves
    code = History().code() if options.keep else None  # before anybody changes it while we measure
    with Progress(sys.stderr) as progress:
        outcome = benchmark.run(RunSettings(quick=options.quick, out=out, progress=progress))
    report = Report(bench=options.name, machine=machine, outcome=outcome)
    (out / "report.json").write_text(report.to_json() + "\n")
    (out / "report.md").write_text(report.to_markdown())
    show(report, _console())
    print(f"Saved in {out}: report.json, report.md" + "".join(f", {plot.name}" for plot in outcome.plots))
    if code:
        kept = results.save(results.Kept.of(report, code, quick=options.quick))
        renewed = results.renew_images(options.name, outcome.plots)
        print("Kept: " + ", ".join(str(path) for path in (kept, *renewed)))
    if options.json:
        print(report.to_json())
    return 0


def _console() -> Console:
    # Where there is no terminal to ask, a log is taken to be wide enough for the tables.
    return Console(width=None if sys.stdout.isatty() else _LOG_COLUMNS)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Penstock and its peers, side by side.")
    parser.add_argument(
        "name",
        choices=[*sorted(BENCHMARKS), "all", "page", "status"],
        help="the benchmark to run; or all of them, the page of the documentation, what was kept and how old it is",
    )
    parser.add_argument("--quick", action="store_true", help="a small subset, in less than a minute")
    parser.add_argument("--json", action="store_true", help="print the report as one JSON object on the last line")
    parser.add_argument("--keep", action="store_true", help="keep the report in bench/results, for git and the page")
    parser.add_argument("--resume", action="store_true", help="with all: skip what is kept of this very code")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where plots and reports go (build/bench/NAME)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
