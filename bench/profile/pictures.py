"""Two recordings beside each other."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from bench.profile.recording import Recording, Role
from bench.profile.stacks import CATEGORIES

# Told apart also by who sees few colours; the first is the user's own.
_COLOURS = ("#4477aa", "#228833", "#ccbb44", "#ee6677", "#bbbbbb", "#dddddd")


def draw(before: Recording, after: Recording, folder: Path) -> list[Path]:
    """A picture of the word count, and one of the chain."""
    return [
        _draw(
            folder / "performance-words.png",
            "CPU time of a word, unthrottled word count",
            [*_named(before.words, "before"), *_named(after.words, "now")],
        ),
        _draw(
            folder / "performance-chain.png",
            "CPU time of a tuple, chain of three at 1,000 tuples/s",
            [*_named(before.chain, "before"), *_named(after.chain, "now")],
        ),
    ]


def _named(roles: Sequence[Role], when: str) -> list[tuple[str, Role]]:
    return [(f"{role.component}, {when}", role) for role in roles]


def _draw(file: Path, title: str, bars: Sequence[tuple[str, Role]]) -> Path:
    # Each component's two bars next to each other, the first on top.
    middle = len(bars) // 2
    ordered = [bar for pair in zip(bars[:middle], bars[middle:], strict=True) for bar in pair][::-1]
    figure = Figure(figsize=(9, 4.2), layout="constrained")
    axes = figure.add_subplot()
    names = [name for name, _ in ordered]
    left = [0.0] * len(ordered)
    for category, colour in zip(CATEGORIES, _COLOURS, strict=True):
        widths = [role.parts_us.get(category, 0.0) for _, role in ordered]
        axes.barh(names, widths, left=left, label=category, color=colour, edgecolor="white", linewidth=0.5)
        left = [at + width for at, width in zip(left, widths, strict=True)]
    for index, (_, role) in enumerate(ordered):
        axes.text(left[index], index, f" {role.cpu_us_per_tuple:.3g}", va="center", fontsize="small")
    axes.set_xlabel("µs of CPU time")
    axes.set_title(title)
    axes.margins(x=0.08)
    axes.grid(visible=True, axis="x", alpha=0.25)
    axes.legend(fontsize="small", ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.16))
    figure.savefig(file, dpi=120)
    return file
