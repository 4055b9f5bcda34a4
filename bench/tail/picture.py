"""The slowest tuples as bars."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from bench.tail.reasons import REASONS, Held

_COLOURS = ("#ee6677", "#ccbb44", "#4477aa", "#aa3377", "#bbbbbb")  # told apart also by who sees few colours


def draw(worst: Sequence[Held], title: str, file: Path) -> Path:
    """The worst on top."""
    figure = Figure(figsize=(9, 4.2), layout="constrained")
    axes = figure.add_subplot()
    bars = [*reversed(worst)]
    names = [f"tuple {one.number:,}" for one in bars]
    left = [0.0] * len(bars)
    for reason, colour in zip(REASONS, _COLOURS, strict=True):
        widths = [one.reasons_us[reason] / 1000 for one in bars]
        axes.barh(names, widths, left=left, label=reason, color=colour, edgecolor="white", linewidth=0.5)
        left = [at + width for at, width in zip(left, widths, strict=True)]
    axes.set_xlabel("ms from when it was due until it was through")
    axes.set_title(title)
    axes.grid(visible=True, axis="x", alpha=0.25)
    axes.legend(fontsize="small", ncols=len(REASONS), loc="upper center", bbox_to_anchor=(0.5, -0.14))
    figure.savefig(file, dpi=120)
    return file
