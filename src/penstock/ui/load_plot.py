"""The load of a run over time, as a picture. Needs matplotlib, which Penstock does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from penstock.control.load_records import HistoryPoint, Situation
from penstock.errors import RunError
from penstock.plan.assignment import Assignment
from penstock.ui.load_view import shares_over_time, traffic_over_time

__all__ = ["plot_load"]


def plot_load(
    path: Path, situation: Situation, history: Sequence[HistoryPoint], assignments: Mapping[int, Assignment]
) -> None:
    """Draws CPU by component over traffic by distance; dashed lines are where tasks moved."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        message = f"{path} cannot be drawn: matplotlib is not installed (pip install matplotlib)"
        raise RunError(message) from error
    times = [point.at_s - situation.run.started_at_s for point in history]
    figure = Figure(figsize=(10, 7), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True)
    for name, series in shares_over_time(situation, history).items():
        upper.plot(times, series, label=name)
    upper.set_ylabel("cores")
    upper.set_title(f"{situation.run.topology}, run {situation.run.run}")
    traffic = traffic_over_time(situation, history, assignments)
    lower.stackplot(times, *traffic.values(), labels=traffic.keys())
    lower.set_ylabel("tuples per second")
    lower.set_xlabel("seconds")
    for before, now, at_s in zip(history, history[1:], times[1:], strict=False):
        if before.assignment != now.assignment:
            for axes in (upper, lower):
                axes.axvline(at_s, color="grey", linestyle="--", linewidth=0.8)
    for axes in (upper, lower):
        axes.set_ylim(bottom=0)
        axes.legend(loc="upper left", fontsize="small")
    try:
        figure.savefig(path)
    except (OSError, ValueError) as error:
        message = f"{path} cannot be drawn: {error}"
        raise RunError(message) from error
