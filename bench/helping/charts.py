"""r, time under backpressure, queues and throughput over the time of a run."""

from pathlib import Path

from bench.helping.measured import Cell, Measured
from bench.helping.plan import EQUAL, HELPING
from bench.plots import Axis, save_line_chart

_SECONDS = Axis(label="seconds", logarithmic=False)
_LEARNED_S = 15.0


def save_charts(out: Path, measured: Measured) -> tuple[Path, ...]:
    """Of each row that was under pressure, and of what was simulated."""
    of_rows = [
        path
        for cell in measured.cells
        if any(sample.settling.episodes for sample in cell.rounds.get(HELPING.name, ()))
        for path in (_ratio(out, cell), _throughput(out, cell), _stopping(out, cell))
    ]
    return (*of_rows, _simulated(out, measured)) if measured.simulated else tuple(of_rows)


def _simulated(out: Path, measured: Measured) -> Path:
    learned = sorted((one for one in measured.simulated if one.name == EQUAL.name), key=lambda one: one.step)
    return save_line_chart(
        out / "helping-simulated-r.png",
        title=f"{EQUAL.name}, in virtual time: the share r that compute learns, by Δ",
        x=_SECONDS,
        y=Axis(label="r", logarithmic=False),
        lines={
            f"Δ = {one.step:g}": [(moment.at_s, moment.ratio) for moment in one.helped if moment.at_s <= _LEARNED_S]
            for one in learned
        },
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
