"""Line charts as PNG files, all in one style."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

# A series is the points of one line, in the order in which they are joined.
Series = Sequence[tuple[float, float]]


class Axis(msgspec.Struct, frozen=True, kw_only=True):
    """One axis, by default on a logarithmic scale; with `ticks`, exactly those values are marked, with their names."""

    label: str
    ticks: Mapping[float, str] = {}
    logarithmic: bool = True


def save_line_chart(path: Path, *, title: str, x: Axis, y: Axis, lines: Mapping[str, Series]) -> Path:
    """Draw one line per series, named in the legend, and save the chart as PNG."""
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.add_subplot()
    for position, (name, points) in enumerate(lines.items()):
        xs, ys = zip(*points, strict=True) if points else ((), ())
        # The first line is the one the chart is about.
        axes.plot(xs, ys, label=name, marker="o", markersize=4, linewidth=2.5 if position == 0 else 1.2)
    for scale, axis, named in ((axes.set_xscale, axes.xaxis, x), (axes.set_yscale, axes.yaxis, y)):
        axis.set_label_text(named.label)
        if not named.logarithmic:
            continue
        scale("log")
        if named.ticks:
            axis.set_ticks(list(named.ticks), list(named.ticks.values()))
            axis.set_ticks([], minor=True)
        else:
            axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
            axis.set_minor_formatter(NullFormatter())
    axes.set_title(title)
    axes.grid(visible=True, which="both", alpha=0.25)
    axes.legend(fontsize="small")
    figure.savefig(path, dpi=120)
    return path
