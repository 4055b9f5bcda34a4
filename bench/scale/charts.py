"""What was measured, as pictures."""

from pathlib import Path

from bench.plots import Axis, save_line_chart
from bench.scale.load import Saturation
from bench.scale.sizes import SizeRow
from bench.scale.soak import SoakSlice


def load_chart(folder: Path, load: Saturation) -> Path:
    """Latency against load."""
    return save_line_chart(
        folder / "load.png",
        title="Latency of a chain of three against load",
        x=Axis(label="tuples/s"),
        y=Axis(label="µs from when a tuple was due until it was through"),
        lines={
            "p50": [(row.rate_per_s, row.p50_us.median) for row in load.rows],
            "p99": [(row.rate_per_s, row.p99_us.median) for row in load.rows],
            "p99.9": [(row.rate_per_s, row.p999_us.median) for row in load.rows],
            "max": [(row.rate_per_s, row.max_us.median) for row in load.rows],
        },
    )


def size_chart(folder: Path, by_tasks: list[SizeRow], by_workers: list[SizeRow]) -> Path:
    """What a tuple costs, by tasks and by workers."""
    sizes = sorted({row.size.tasks for row in by_tasks} | {row.size.workers for row in by_workers})
    return save_line_chart(
        folder / "sizes.png",
        title="What a tuple costs with more tasks and workers",
        x=Axis(label="tasks on two workers, or workers with a task each", ticks={size: str(size) for size in sizes}),
        y=Axis(label="CPU µs per tuple", logarithmic=False),
        lines={
            "tasks": [(row.size.tasks, row.cpu_us_per_tuple.median) for row in by_tasks],
            "workers": [(row.size.workers, row.cpu_us_per_tuple.median) for row in by_workers],
        },
    )


def soak_chart(folder: Path, slices: list[SoakSlice], slice_s: float) -> Path:
    """Everything over time, as a share of what it was in the second slice."""
    first = slices[min(1, len(slices) - 1)]
    times = [(index + 1) * slice_s / 60 for index in range(len(slices))]
    return save_line_chart(
        folder / "soak.png",
        title="A chain of three over time, each figure over its second slice",
        x=Axis(label="minutes", logarithmic=False),
        y=Axis(label="times the second slice", logarithmic=False),
        lines={
            name: [(at, getattr(one, field) / getattr(first, field)) for at, one in zip(times, slices, strict=True)]
            for name, field in (("CPU", "cpu_us_per_tuple"), ("memory", "resident_mb"), ("p50", "p50_us"))
        },
    )
