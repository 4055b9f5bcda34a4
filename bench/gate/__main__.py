"""`python -m bench.gate [--short] [--base COMMIT] [--candidate PATH]`: 0 if nothing has slipped, 1 if something has."""

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

from rich.console import Console
from rich.table import Table

from bench.gate.build import GateError, build_commit, build_tree
from bench.gate.measures import measures, warm_up, work_for
from bench.gate.plan import FULL, SHORT, Plan
from bench.gate.policy import Judgement, Verdict, judge
from bench.gate.side import Side
from bench.history import REPOSITORY, GitError, History
from bench.machine import describe_machine
from bench.report import format_figure
from bench.wordcount.runner import RunnerError

BASE_FILE = REPOSITORY / "bench" / "gate_base"

_FOLDER = REPOSITORY / "build" / "gate"
_BROKEN = 2

Samples = Mapping[str, Sequence[float]]
Measured = TypeVar("Measured")


def main(arguments: Sequence[str] | None = None) -> int:
    """Build both sides, measure them by turns, judge."""
    options = _parser().parse_args(arguments)
    plan = SHORT if options.short else FULL
    try:
        base = base_commit(History(), options.base)
        return _compare(base, options.candidate.resolve(), plan)
    except (GateError, GitError, RunnerError) as error:
        print(f"the gate cannot tell: {error}", file=sys.stderr)
        return _BROKEN


def base_commit(history: History, asked_for: str | None) -> str:
    """What to compare with: what is asked for, else the last release, else what `bench/gate_base` says."""
    return history.commit(asked_for or history.last_tag() or BASE_FILE.read_text().strip())


def compare(
    base: Measured, candidate: Measured, measuring: Sequence[Callable[[Measured], Mapping[str, float]]], plan: Plan
) -> tuple[list[Judgement], dict[str, Samples]]:
    """Rounds until everything is clear; the judgements, and the samples of both."""
    ours: dict[str, list[float]] = defaultdict(list)
    theirs: dict[str, list[float]] = defaultdict(list)
    judgements: list[Judgement] = []
    for turn in range(plan.most_rounds):
        # A B, B A, A B ...: so that going second, and what drifts, falls on both.
        order = [(base, theirs), (candidate, ours)]
        for measure in measuring:
            for side, samples in order if turn % 2 == 0 else reversed(order):
                for name, value in measure(side).items():
                    samples[name].append(value)
        judgements = judged(theirs, ours, plan)
        undecided = [each.metric.name for each in judgements if each.verdict is Verdict.OPEN]
        print(f"round {turn + 1}: {len(undecided)} of {len(judgements)} metrics are open", file=sys.stderr, flush=True)
        if turn + 1 >= plan.rounds and not undecided:
            break
    return judgements, {"base": theirs, "candidate": ours}


def judged(base: Samples, candidate: Samples, plan: Plan) -> list[Judgement]:
    """Every metric, by as many rounds as there are."""
    return [
        judge(plan.metric(name), values, candidate[name], last=len(values) >= plan.most_rounds)
        for name, values in base.items()
    ]


def _compare(base: str, candidate: Path, plan: Plan) -> int:
    _FOLDER.mkdir(parents=True, exist_ok=True)
    print(f"==> base: {base}; candidate: {candidate}", flush=True)
    pythons = {
        "base": build_commit(base, History(), _FOLDER),
        "candidate": build_tree(candidate, _FOLDER / "candidate"),
    }
    machine = describe_machine()
    with ExitStack() as stack:
        sides = [stack.enter_context(Side(name, python, _FOLDER / f"{name}.log")) for name, python in pythons.items()]
        for side, python in zip(sides, pythons.values(), strict=True):
            _check(side, python)
        work = work_for(sides[0], plan)
        for side in sides:
            warm_up(side, work, plan)
        judgements, samples = compare(sides[0], sides[1], measures(work, plan), plan)
    report = {"base": base, "candidate": str(candidate), "machine": machine.text, "samples": samples}
    (_FOLDER / "report.json").write_text(json.dumps(report) + "\n")
    Console(width=None if sys.stdout.isatty() else 140).print(_table(judgements))
    slips = [each.metric.name for each in judgements if each.verdict is Verdict.SLIP]
    print(f"slipped: {', '.join(slips)}" if slips else "nothing has slipped")
    return 1 if slips else 0


def _check(side: Side, python: Path) -> None:
    """Each side has to have its own penstock, or the comparison is one of nothing."""
    found = Path(side.ask("where")["penstock"])
    if not found.is_relative_to(python.parents[1]):
        message = f"{side.name} has the penstock of {found}, wanted one in {python.parents[1]}"
        raise GateError(message)


def _table(judgements: Sequence[Judgement]) -> Table:
    table = Table("metric", "base", "candidate", "times as slow", "interval", "too slow", "rounds", "verdict")
    for each in judgements:
        table.add_row(
            each.metric.name,
            format_figure(each.base),
            format_figure(each.candidate),
            f"{each.slowdown:.3f}",
            f"{each.low:.3f} to {each.high:.3f}",
            f"> {each.metric.limit:g}",
            str(each.rounds),
            each.verdict.value,
        )
    return table


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.gate", description="Is this tree slower than the last?")
    parser.add_argument(
        "--short", action="store_true", help="two minutes, a bound of 20 %% on CPU time: for any machine"
    )
    parser.add_argument("--base", metavar="COMMIT", help="what to compare with (the last tag, else bench/gate_base)")
    parser.add_argument(
        "--candidate", type=Path, metavar="PATH", default=REPOSITORY, help="the tree to judge (this working tree)"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
