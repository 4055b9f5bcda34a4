"""Numbers, durations and texts as people read them in a terminal."""

from __future__ import annotations

from rich.text import Text

__all__ = ["bar", "count", "duration", "number", "one_line"]

BAR_WIDTH = 4
MOST_CHARACTERS = 240


def one_line(text: str) -> str:
    """The first line of what users or remote places say, no longer than a few lines of a terminal."""
    line = "".join(character if character.isprintable() else " " for character in text.strip().partition("\n")[0])
    return line if len(line) <= MOST_CHARACTERS else f"{line[: MOST_CHARACTERS - 1]}…"


def bar(share: float) -> Text:
    """A share of one, red when it is nearly all."""
    share = min(1.0, max(0.0, share))
    filled = round(share * BAR_WIDTH)
    style = "red" if share > 0.9 else "green"
    return Text.assemble(("█" * filled, style), ("░" * (BAR_WIDTH - filled), "dim"), f" {share:4.0%}")


def count(value: int) -> str:
    """To the last tuple, as long as there is room."""
    return f"{value:,}" if value < 10_000_000 else number(value)


def number(value: float) -> str:
    """Three digits or so, and a unit."""
    # Limits are where rounding reaches the next unit.
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= limit * 0.99995:
            return f"{value / limit:.1f}{unit}"
    return f"{value:.0f}"


def duration(ns: float) -> str:
    """A duration for people: three digits and a unit."""
    for limit, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if ns >= limit * 0.9995:
            value = ns / limit
            return f"{value:.3g} {unit}" if value < 999.5 else f"{value:.0f} {unit}"
    return f"{ns:.0f} ns"
