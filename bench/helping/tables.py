"""What was measured, as tables."""

from bench.helping.measured import Cell, Measured
from bench.report import Table, format_figure
from bench.stats import Spread


def tables(measured: Measured) -> tuple[Table, ...]:
    """One for each question."""
    return _throughput(measured), _pressure(measured), _latency(measured), _checked(measured), _simulated(measured)


def _throughput(measured: Measured) -> Table:
    return Table(
        title="Words through the chain",
        columns=("load", "side", "words/s", "of plain", "at most"),
        rows=tuple(
            (
                cell.name,
                side,
                _spread(Spread.over(sample.per_s for sample in samples)),
                "-" if side == cell.baseline else _spread(cell.over_baseline(side)),
                "-" if side == cell.baseline or cell.most is None else format_figure(cell.most),
            )
            for cell in measured.cells
            for side, samples in cell.rounds.items()
        ),
        note=(
            "Median (lowest–highest) of interleaved rounds. At most: if compute had just as much of exclam1's work "
            "that both were busy all the time, of what is offered. "
            + "; ".join(f"{cell.name}: {cell.note}" for cell in measured.cells if cell.note)
            + "."
        ),
    )


def _pressure(measured: Measured) -> Table:
    return Table(
        title="Help and backpressure",
        columns=(
            "load",
            "side",
            "episodes, settling",
            "episodes, settled",
            "backpressure s, settling",
            "backpressure, settled",
            "helped, settled",
            "r, settled",
            "longest queue",
        ),
        rows=tuple(_pressure_row(cell, side) for cell in measured.cells for side in cell.rounds),
        note=(
            "Of the round of median throughput. Episodes: how often a task had too much, before the window that is "
            "measured, and in it. Times are seconds before it, and shares of it, all tasks together."
        ),
    )


def _pressure_row(cell: Cell, side: str) -> tuple[str, ...]:
    sample = cell.typical(side)
    ratios = [f"{edge} {value:.2f}" for edge, value in sorted(sample.settled.ratio.items())]
    return (
        cell.name,
        side,
        str(sample.settling.episodes),
        str(sample.settled.episodes),
        format_figure(sample.settling.stopping_s),
        f"{sample.settled.stopping_s / sample.window_s:.0%}",
        f"{sample.settled.helped_s / sample.window_s:.0%}",
        "\n".join(ratios) or "-",
        f"{sample.longest_queue:,}",
    )


def _latency(measured: Measured) -> Table:
    return Table(
        title="Milliseconds from the spout to the end",
        columns=("load", "side", "average", "p50", "p99", "plain's p50 over it"),
        rows=tuple(
            (
                cell.name,
                side,
                _spread(Spread.over(sample.times.mean_ms for sample in samples)),
                _spread(Spread.over(sample.times.p50_ms for sample in samples)),
                _spread(Spread.over(sample.times.p99_ms for sample in samples)),
                "-" if side == cell.baseline else _spread(cell.sooner_than_baseline(side)),
            )
            for cell in measured.cells
            for side, samples in cell.rounds.items()
        ),
        note="From when a word was emitted, not from when it was due: a spout that is stopped emits nothing.",
    )


def _checked(measured: Measured) -> Table:
    return Table(
        title="Lost and doubled",
        columns=("load", "side", "words", "lost", "doubled", "not worked on by each bolt once"),
        rows=tuple(
            (
                cell.name,
                side,
                f"{sum(sample.ledger.emitted for sample in samples):,}",
                str(sum(sample.ledger.lost for sample in samples)),
                str(sum(sample.ledger.doubled for sample in samples)),
                str(sum(sample.ledger.wrong for sample in samples)),
            )
            for cell in measured.cells
            for side, samples in cell.rounds.items()
        ),
        note="Words by their numbers, those that were still inside when the window ended included.",
    )


def _simulated(measured: Measured) -> Table:
    return Table(
        title="The same in virtual time",
        columns=(
            "load",
            "Δ",
            "of plain",
            "helps, settling",
            "stops, settling",
            "helps, settled",
            "stops, settled",
            "r of compute",
        ),
        rows=tuple(
            (
                one.name,
                f"{one.step:g}",
                format_figure(one.over_plain()),
                str(one.settling().helps),
                str(one.settling().stops),
                str(one.settled_helps()),
                str(one.settled_stops()),
                format_figure(one.ratio),
            )
            for one in measured.simulated
        ),
        note=(
            "The policy objects of the workers, on exact service times: what they are good for where no machine "
            "disturbs. Settling: the first third of 45 s."
        ),
    )


def _spread(spread: Spread) -> str:
    if spread.lowest == spread.highest:
        return format_figure(spread.median)
    return f"{format_figure(spread.median)} ({format_figure(spread.lowest)}–{format_figure(spread.highest)})"
