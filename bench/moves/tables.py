"""What was measured, as tables."""

from collections import defaultdict

from bench.moves.measured import Measured, Steady
from bench.report import Table, format_figure
from bench.stats import Distribution, Spread


def tables(measured: Measured) -> tuple[Table, ...]:
    """One for each question."""
    return _outputs(measured), _components(measured), _checked(measured), _restarts(measured)


def _outputs(measured: Measured) -> Table:
    return Table(
        title="Outputs while tasks move",
        columns=(
            "run",
            "moves",
            "longest gap ms, quiet",
            "longest gap ms, moving",
            "p50 ms, quiet",
            "p50 ms, moving",
            "p99 ms, quiet",
            "p99 ms, moving",
            "p99 over quiet",
            "p99 ms near moves",
        ),
        rows=tuple(
            (
                one.case,
                str(len(one.moves)),
                format_figure(one.longest_gap_ms(one.quiet)),
                format_figure(one.longest_gap_ms(one.moving)),
                _spread(Spread.over(stretch.latency_ms.p50 for stretch in one.quiet)),
                _spread(Spread.over(stretch.latency_ms.p50 for stretch in one.moving)),
                _spread(one.p99_ms(one.quiet)),
                _spread(one.p99_ms(one.moving)),
                format_figure(one.p99_over_quiet()),
                format_figure(one.near_moves_ms.p99),
            )
            for one in measured.steady
        ),
        note=(
            "Quiet and moving by turns, in the same run. A gap is that of the one counting task that was silent for "
            "longest; what the machine does to it by itself is the quiet one. Latencies are from when a line was due; "
            "median (lowest–highest) of the stretches."
        ),
    )


def _components(measured: Measured) -> Table:
    return Table(
        title="Milliseconds that a move takes, by what moves",
        columns=("run", *_COMPONENTS),
        rows=tuple((one.case, *(_took(one, component) for component in _COMPONENTS)) for one in measured.steady),
        note="From the question to the answer, p50 and longest. Exactly once it waits for the epoch under way.",
    )


_COMPONENTS = ("lines", "split", "count", "note")


def _took(one: Steady, component: str) -> str:
    took: defaultdict[str, list[float]] = defaultdict(list)
    for move in one.moves:
        took[move.component].append((move.done_ns - move.begun_ns) / 1e6)
    found = took[component]
    return f"{format_figure(Distribution.of(found).p50)}, {format_figure(max(found))}" if found else "-"


def _checked(measured: Measured) -> Table:
    return Table(
        title="Lost and doubled",
        columns=("run", "outputs", "lost", "doubled", "counts lost", "counts doubled"),
        rows=tuple(
            (
                one.case,
                f"{one.ledger.outputs:,}",
                str(one.ledger.lost_outputs),
                str(one.ledger.doubled_outputs),
                str(one.ledger.lost_counts),
                str(one.ledger.doubled_counts),
            )
            for one in measured.steady
        ),
        note="Outputs by their numbers, as the sink noted them; counts by word, as they stand in the state at the end.",
    )


def _restarts(measured: Measured) -> Table:
    return Table(
        title="The other way: stopped, and started again from the checkpoint",
        columns=("run", "seconds without output"),
        rows=tuple((one.case, _spread(Spread.over(one.gaps_s))) for one in measured.restarted if one.gaps_s),
        note="As Storm, T-Storm and TurboStream move tasks, which takes them 15 to 30 s. Median (lowest–highest).",
    )


def _spread(spread: Spread) -> str:
    if spread.lowest == spread.highest:
        return format_figure(spread.median)
    return f"{format_figure(spread.median)} ({format_figure(spread.lowest)}–{format_figure(spread.highest)})"
