"""The measurements as tables."""

from collections.abc import Mapping

from bench.report import Table, format_figure
from bench.stats import Spread


def loss_table(
    loss: Mapping[float, Spread], cpu: Mapping[float, Spread], rounds: Mapping[float, int], quiet_per_s: float
) -> Table:
    """Periods down."""
    return Table(
        title="What is lost where load is sampled",
        columns=("sampled every", "of the throughput, %", "of the machine's CPU time, %", "pairs of slices"),
        rows=tuple(
            (f"{every_s:g} s", _percent(loss[every_s]), _percent(cpu[every_s]), str(rounds[every_s]))
            for every_s in loss
        ),
        note=(
            f"One run, switched to and fro: median (and the middle half) over pairs of neighbouring slices. "
            f"{quiet_per_s:,.0f} tuples/s without."
        ),
    )


def cost_table(sample_ms: float) -> Table:
    """What a sample costs the driver, by its own CPU clock."""
    return Table(
        title="CPU time of a sample in the driver",
        columns=("what", "ms"),
        rows=(("taking a sample of 14 tasks and 48 pairs, and entering it into SQLite", format_figure(sample_ms)),),
    )


def _percent(spread: Spread) -> str:
    median, low, high = (format_figure(100 * value) for value in (spread.median, spread.lowest, spread.highest))
    return f"{median} ({low} to {high})"
