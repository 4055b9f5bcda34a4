"""r, time under backpressure, queues and throughput over the time of a run."""

from pathlib import Path

from bench.helping.measured import Cell, Measured
from bench.helping.plan import HELPING
from bench.plots import Axis, save_line_chart

_SECONDS = Axis(label="seconds", logarithmic=False)


def save_charts(out: Path, measured: Measured) -> tuple[Path, ...]:
    """Of each row that was under pressure."""
    return tuple(
        path
        for cell in measured.cells
        if any(sample.settling.helps for sample in cell.rounds.get(HELPING.name, ()))
        for path in (_ratio(out, cell), _throughput(out, cell), _stopping(out, cell))
    )


def _ratio(out: Path, cell: Cell) -> Path:
    moments = cell.typical(HELPING.name).moments
    edges = sorted({edge for moment in moments for edge in moment.pressure.ratio})
    return save_line_chart(
        out / f"helping-r-{_slug(cell)}.png",
        title=f"{cell.name}: the share r that is helped without being asked",
        x=_SECONDS,
        y=Axis(label="r", logarithmic=False),
        lines={edge: [(moment.at_s, moment.pressure.ratio.get(edge, 0.0)) for moment in moments] for edge in edges},
    )


def _throughput(out: Path, cell: Cell) -> Path:
    return save_line_chart(
        out / f"helping-throughput-{_slug(cell)}.png",
        title=f"{cell.name}: words that came to the end",
        x=_SECONDS,
        y=Axis(label="words/s", logarithmic=False),
        lines={
            side: [(moment.at_s, moment.per_s) for moment in cell.typical(side).moments]
            for side in reversed(cell.rounds)
        },
    )


def _stopping(out: Path, cell: Cell) -> Path:
    return save_line_chart(
        out / f"helping-backpressure-{_slug(cell)}.png",
        title=f"{cell.name}: time under backpressure so far, all tasks together",
        x=_SECONDS,
        y=Axis(label="seconds", logarithmic=False),
        lines={
            side: [(moment.at_s, moment.pressure.stopping_s) for moment in cell.typical(side).moments]
            for side in reversed(cell.rounds)
        },
    )


def _slug(cell: Cell) -> str:
    return cell.name.lower().replace(",", "").replace(" ", "-")
