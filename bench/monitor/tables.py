"""The measurements as tables."""

from collections.abc import Mapping

from bench.report import Table, format_figure
from bench.stats import Spread


def loss_table(loss: Mapping[float, Spread], rounds: Mapping[float, int], quiet_per_s: float) -> Table:
    """Periods down."""
    return Table(
        title="Throughput with load sampled, over that without",
        columns=("sampled every", "lost of the throughput, %", "pairs of slices"),
        rows=tuple(
            (
                f"{every_s:g} s",
                f"{format_figure(100 * spread.median)} "
                f"({format_figure(100 * spread.lowest)} to {format_figure(100 * spread.highest)})",
                str(rounds[every_s]),
            )
            for every_s, spread in loss.items()
        ),
        note=(
            f"One run, switched to and fro: median (and the middle half) over pairs of neighbouring slices. "
            f"{quiet_per_s:,.0f} tuples/s without."
        ),
    )


def cost_table(sample_ms: float, cpu_ms: Mapping[float, float]) -> Table:
    """What a sample costs the driver, by its own CPU clock."""
    rows = [("taking a sample of 14 tasks and 48 pairs, and entering it", format_figure(sample_ms))]
    rows += [(f"so per second, sampled every {every_s:g} s", format_figure(cost)) for every_s, cost in cpu_ms.items()]
    return Table(title="CPU time of the driver", columns=("what", "ms"), rows=tuple(rows))
