"""One side of one row: started, left to settle, looked at for a while, drained, and every word accounted for."""

import itertools
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec

import penstock as ps
from bench.helping.account import Account, Ledger
from bench.helping.dial import Dial
from bench.helping.measured import Moment, Sample
from bench.helping.placement import SINK, WorkerPerTask
from bench.helping.plan import Row, Side
from bench.helping.pressure import pressure_of
from bench.helping.topology import leron_chain
from bench.scheduling.tap import Tap
from bench.scheduling.window import times_between
from penstock.control.metrics import RunMetrics

_LOOK_S = 0.5
_PHASE_S = 5.0
_PATIENCE_S = 60.0


def sampled(spark: Any, row: Row, side: Side) -> Sample:
    """Runs it once."""
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        tap, dial, account_file = Tap(folder), Dial(folder), Path(folder, "account")
        topology = leron_chain(
            tap_file=tap.file,
            dial_file=dial.file,
            account_file=str(account_file),
            computes=row.computes,
            is_cpu_bound=row.is_cpu_bound,
            **side.bolt,
        )
        dial.turn(row.phases[0].by_name())
        tap.turn(row.offered_per_s)
        with ps.start(
            topology, spark=spark, workers=row.workers, scheduler=WorkerPerTask(), scheduling="off", **side.settings
        ) as run:
            looks = _watched(run, row, dial)
            dial.turn({})  # what is inside need not take long
            run.drain()
            if not run.wait(_PATIENCE_S):
                message = f"{row}, {side}: not drained within {_PATIENCE_S:g} s: {run.status()}"
                raise ps.RunError(message)
            over = run.summary().metrics
        account = msgspec.msgpack.decode(account_file.read_bytes(), type=Account)
    for failure in over.failures:
        message = f"{row}, {side}: {failure.component} failed: {failure.message}"
        raise ps.RunError(message)
    return _sample(row, looks, Ledger.of(account, emitted=_emitted(over)))


def _watched(run: ps.Run, row: Row, dial: Dial) -> list[RunMetrics]:
    """Looks every half a second, and turns the dial when that is due. The last look is the end of the window."""
    began_s = time.monotonic()
    looks = [run.metrics()]
    phase = row.phases[0]
    while (passed_s := time.monotonic() - began_s) < row.settle_s + row.window_s:
        due = row.phases[int(passed_s / _PHASE_S) % len(row.phases)]
        if due != phase:
            phase = due
            dial.turn(phase.by_name())
        time.sleep(_LOOK_S)
        looks.append(run.metrics())
    return looks


def _sample(row: Row, looks: list[RunMetrics], ledger: Ledger) -> Sample:
    last = looks[-1]
    first = min(looks, key=lambda look: abs(look.run_s - (last.run_s - row.window_s)))
    times = times_between(first.end_to_end_histogram, last.end_to_end_histogram)
    if times is None:
        message = f"{row}: nothing came to its end within {row.window_s:g} s"
        raise ps.RunError(message)
    window = looks[looks.index(first) :]
    return Sample(
        per_s=(_done(last) - _done(first)) / (last.run_s - first.run_s),
        times=times,
        window_s=last.run_s - first.run_s,
        settling=pressure_of(first),
        settled=pressure_of(last).since(pressure_of(first)),
        longest_queue=max(max(_queues(look).values()) for look in window),
        ledger=ledger,
        moments=[
            _moment(earlier, later) for earlier, later in itertools.pairwise(looks) if later.run_s > earlier.run_s
        ],
    )


def _moment(earlier: RunMetrics, later: RunMetrics) -> Moment:
    return Moment(
        at_s=later.run_s,
        per_s=(_done(later) - _done(earlier)) / (later.run_s - earlier.run_s),
        queues=_queues(later),
        pressure=pressure_of(later),
    )


def _done(look: RunMetrics) -> int:
    return sum(component.processed for component in look.components if component.name == SINK)


def _emitted(look: RunMetrics) -> int:
    return sum(component.emitted for component in look.components if component.kind == "spout")


def _queues(look: RunMetrics) -> dict[str, int]:
    return {component.name: component.backlog for component in look.components if component.kind == "bolt"}
