"""What was simulated and measured, as charts: Hone's figures 6 to 8, 10 and 12."""

from collections.abc import Callable, Sequence
from pathlib import Path

from bench.backlog.measured import FIFO, LBF, ROUND_ROBIN, Measured
from bench.backlog.simulated import (
    FIXED_QUEUES,
    FIXED_RATE_PER_S,
    Cell,
    Setting,
    delay_ms,
    fairness,
    worst_backlog,
)
from bench.backlog.simulation import POLICIES, Simulated
from bench.plots import Axis, save_line_chart

_FIGURES: tuple[tuple[str, str, Callable[[Simulated], float]], ...] = (
    ("worst-backlog", "worst backlog, tuples", worst_backlog),
    ("fairness", "Jain's index", fairness),
    ("delay", "average delay, ms", delay_ms),
)


def save_simulation_charts(out: Path, cells: Sequence[Cell]) -> tuple[Path, ...]:
    """Each by rate and by number of queues."""
    by_rate = [cell for cell in cells if cell.setting.queues == FIXED_QUEUES]
    by_queues = [cell for cell in cells if cell.setting.per_s == FIXED_RATE_PER_S]
    charts = []
    for name, unit, value_of in _FIGURES:
        charts += [
            _save(out / f"{name}-by-rate.png", unit, "tuples/s of each queue", by_rate, _per_s, value_of),
            _save(out / f"{name}-by-queues.png", unit, "queues", by_queues, _queues, value_of),
        ]
    return tuple(charts)


def _per_s(setting: Setting) -> int:
    return setting.per_s


def _queues(setting: Setting) -> int:
    return setting.queues


def _save(
    path: Path,
    unit: str,
    label: str,
    cells: Sequence[Cell],
    place_of: Callable[[Setting], int],
    value_of: Callable[[Simulated], float],
) -> Path:
    return save_line_chart(
        path,
        title=f"Simulated: {unit}",
        x=Axis(label=label, logarithmic=False),
        y=Axis(label=unit, logarithmic=value_of is not fairness),
        lines={
            policy: [(place_of(cell.setting), cell.spread(policy, value_of).median) for cell in cells]
            for policy in POLICIES
        },
    )


def save_latency_charts(out: Path, measured: Sequence[Measured]) -> tuple[Path, ...]:
    """For each grouping and rate, the mean latency by the interval."""
    return tuple(_save_latency(out, one) for one in measured)


def _save_latency(out: Path, one: Measured) -> Path:
    of_lbf = {interval: one.spread(f"{LBF} {interval} ms", "mean_ms").median for interval in one.intervals_ms}
    of_others = {
        name: one.spread(contestant, "mean_ms").median
        for name, contestant in ((FIFO, FIFO), (ROUND_ROBIN, one.round_robin))
    }
    return save_line_chart(
        out / f"latency-{one.experiment.grouping.replace(' ', '-')}-{one.experiment.per_s:g}-per-s.png",
        title=f"Mean latency: {one.experiment.name}",
        x=Axis(label="interval, ms", logarithmic=False),
        y=Axis(label="ms"),
        lines={LBF: [*of_lbf.items()]}
        | {name: [(interval, mean) for interval in one.intervals_ms] for name, mean in of_others.items()},
    )
