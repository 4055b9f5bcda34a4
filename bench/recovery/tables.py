"""What was measured, as tables."""

from bench.recovery.measured import Measured
from bench.report import Table, format_figure
from bench.stats import Spread


def tables(measured: Measured, rounds: int) -> tuple[Table, ...]:
    """One for each question."""
    return _words(measured, rounds), _latencies(measured, rounds), _outages(measured, rounds), _soak(measured)


def _words(measured: Measured, rounds: int) -> Table:
    plain = measured.rate("at_most_once").median
    rates = {name: measured.rate(name) for name in measured.words_per_s}
    return Table(
        title="Word count under each guarantee",
        columns=("delivery", "words/s", "of at most once"),
        rows=tuple((name, _spread(rate), format_figure(rate.median / plain)) for name, rate in rates.items()),
        note=f"Over {rounds} interleaved rounds: median (lowest–highest). Epochs of 1 s. All counts were right.",
    )


def _latencies(measured: Measured, rounds: int) -> Table:
    return Table(
        title="Milliseconds until a word is counted, at 1,000 sentences/s",
        columns=("delivery", "p50", "p99"),
        rows=tuple(
            (
                name,
                _spread(Spread.over(one.p50 for one in found)),
                _spread(Spread.over(one.p99 for one in found)),
            )
            for name, found in measured.latencies_ms.items()
        ),
        note=f"From when the sentence was due. Over {rounds} interleaved rounds: median (lowest–highest).",
    )


def _outages(measured: Measured, rounds: int) -> Table:
    return Table(
        title="A worker is killed: seconds until something comes out again",
        columns=("delivery", "until output", "until Spark has restarted the worker"),
        rows=tuple(
            (
                name,
                _spread(Spread.over(one.until_output_s for one in found)),
                _spread(Spread.over(one.until_restart_s for one in found)),
            )
            for name, found in measured.outages.items()
        ),
        note=f"Over {rounds} interleaved rounds: median (lowest–highest).",
    )


def _soak(measured: Measured) -> Table:
    return Table(
        title="A fault every few seconds",
        columns=("delivery", "seconds", "faults", "tuples checked", "lost", "doubled", "seed"),
        rows=tuple(
            (
                one.delivery,
                f"{one.seconds:.0f}",
                str(one.faults),
                f"{one.checked:,}",
                str(one.lost),
                str(one.doubled),
                str(one.seed),
            )
            for one in measured.soaked
        ),
        note="SIGKILL of a worker, or SIGSTOP for up to four seconds. At least once may double; that is what it is.",
    )


def _spread(spread: Spread) -> str:
    return f"{format_figure(spread.median)} ({format_figure(spread.lowest)}–{format_figure(spread.highest)})"
