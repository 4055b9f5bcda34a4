"""One run at a steady rate: some seconds without moves, some with, and so on by turns."""

import tempfile
import time
from pathlib import Path
from typing import Any

import penstock as ps
from bench.moves.journal import Output, read_journals
from bench.moves.ledger import checked, read_counts
from bench.moves.lines import SPOUTS, Lines
from bench.moves.measured import Steady, Stretch
from bench.moves.mover import Mover
from bench.moves.outputs import Interval, latencies_ms, longest_gap_ms
from bench.moves.plan import LINES_PER_S, WORKERS, Case, Plan
from bench.moves.topology import moving_word_count
from bench.stats import Distribution

_SEED = 7
_SETTLE_S = 3.0
_SPARE_S = 5.0
_LOOK_S = 0.1
_PATIENCE_S = 90.0
# What a move has held up comes out later than when all has moved.
_AFTER_NS = 200_000_000
_EPOCH_EVERY_S = 1.0


def steady(spark: Any, case: Case, plan: Plan) -> Steady:
    """Moves tasks, and looks at every word."""
    seconds = _SETTLE_S + 2 * plan.rounds * (plan.stretch_s + plan.move_every_s) + _SPARE_S
    lines = Lines(case.words, int(seconds * LINES_PER_S / SPOUTS))
    quiet: list[Interval] = []
    moving: list[Interval] = []
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        with started(spark, case, lines, folder) as run:
            await_words(run, lines)
            mover = Mover(run, _SEED)
            for _ in range(plan.rounds):
                begun_ns = time.monotonic_ns()
                time.sleep(plan.stretch_s)
                quiet.append((begun_ns, time.monotonic_ns()))
                begun_ns = time.monotonic_ns()
                while time.monotonic_ns() < begun_ns + plan.stretch_s * 1e9:
                    mover.move()
                    time.sleep(plan.move_every_s)
                moving.append((begun_ns, time.monotonic_ns()))
            if not run.wait(_SPARE_S + _PATIENCE_S):
                raise _stuck(run, "has not ended")
        outputs = read_journals(folder)
        ledger = checked(lines, outputs, read_counts(folder))
    near = [(begun_ns, done_ns + _AFTER_NS) for begun_ns, done_ns in (move.interval for move in mover.moves)]
    return Steady(
        case=case.name,
        quiet=[_stretch(outputs, interval) for interval in quiet],
        moving=[_stretch(outputs, interval) for interval in moving],
        near_moves_ms=Distribution.of(latencies_ms(outputs, near)),
        moves=mover.moves,
        ledger=ledger,
    )


def started(spark: Any, case: Case, lines: Lines, folder: str) -> ps.Run:
    """The word count. If it has a checkpoint already, it goes on from there."""
    return ps.start(
        moving_word_count(lines, LINES_PER_S, folder),
        spark=spark,
        workers=WORKERS,
        delivery=case.delivery,
        checkpoint=str(Path(folder, "checkpoint")) if case.delivery == "exactly_once" else None,
        epoch_every_s=_EPOCH_EVERY_S,
    )


def await_words(run: ps.Run, lines: Lines) -> None:
    """Waits until every word has been counted once, and all is quiet."""
    deadline_s = time.monotonic() + _PATIENCE_S
    while sum(one.processed for one in run.metrics().components if one.name == "count") < lines.words:
        if time.monotonic() > deadline_s:
            raise _stuck(run, f"has not counted all {lines.words:,} words once")
        time.sleep(_LOOK_S)
    time.sleep(_SETTLE_S)


def _stuck(run: ps.Run, what: str) -> ps.RunError:
    counts = ", ".join(f"{one.name} {one.processed:,} ({one.backlog} wait)" for one in run.metrics().components)
    return ps.RunError(f"{run.topology.name} {what} within {_PATIENCE_S:g} s: {counts}; {run.status()}")


def _stretch(outputs: list[Output], interval: Interval) -> Stretch:
    return Stretch(
        longest_gap_ms=longest_gap_ms(outputs, [interval]),
        latency_ms=Distribution.of(latencies_ms(outputs, [interval])),
    )
