"""Processing times under overload, as the paper's figures 9 and 10."""

from pathlib import Path

from bench.plots import Axis, save_line_chart
from bench.scheduling.measured import Measured


def save_charts(out: Path, measured: Measured) -> tuple[Path, ...]:
    """A chart for each topology that was overloaded."""
    return tuple(
        save_line_chart(
            out / f"overload-{one.name.partition(',')[0].lower().replace(' ', '-')}.png",
            title=f"{one.name}: all in one worker; at 0 s the input is doubled",
            x=Axis(label="seconds", logarithmic=False),
            y=Axis(label="average processing time of each second, ms"),
            lines={
                "average": [(moment.at_s, moment.mean_ms) for moment in one.moments if moment.mean_ms is not None],
                "workers in use": [(moment.at_s, moment.workers) for moment in one.moments],
            },
        )
        for one in measured.overloads
    )
