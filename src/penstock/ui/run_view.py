"""A run in the terminal: who does how much, what waits, how long it takes, what goes wrong."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from penstock.control.metrics import ComponentMetrics, EdgeMetrics, Latency, RunMetrics
from penstock.control.status import Phase, RunStatus

__all__ = ["run_view"]

BAR_WIDTH = 4
MOST_FAILURES = 5
MOST_NOTICES = 4
MOST_CHARACTERS = 240


def run_view(status: RunStatus, metrics: RunMetrics) -> RenderableType:
    """The whole picture: headline, components, edges, failures, notices, and why it failed.

    What users named or raised is never taken for the console's markup: all of it is Text.
    """
    parts: list[RenderableType] = [_headline(status, metrics), _components(metrics)]
    if metrics.edges:
        parts.append(_edges(metrics))
    if metrics.failures:
        parts.append(_failures(metrics))
    parts += [Text(f"· {_one_line(notice)}", style="yellow") for notice in status.notices[-MOST_NOTICES:]]
    if status.error:
        parts.append(Text(_one_line(status.error), style="red"))
    return Group(*parts, Text())


def _headline(status: RunStatus, metrics: RunMetrics) -> Text:
    over = status.phase.is_over
    present = sum(over or worker.state not in ("awaited", "left") for worker in status.workers)
    nodes = len({worker.node for worker in status.workers if worker.node})
    text = Text.assemble(
        (status.topology, "bold"),
        ("  ", ""),
        (status.phase.value, "red" if status.phase is Phase.FAILED else ""),
        f"  {metrics.run_s:.1f} s  {present}/{len(status.workers)} workers",
    )
    if nodes:  # who has left is nowhere
        text.append(f" on {nodes} node{'s' if nodes > 1 else ''}")
    if status.restarts:
        text.append(f"  restarts {status.restarts}", style="yellow")
    if metrics.lost:
        text.append(f"  lost {metrics.lost:,} tuples", style="red")
    if metrics.end_to_end is not None:
        text.append(
            f"  end to end p50 {duration(metrics.end_to_end.p50_ns)}, p99 {duration(metrics.end_to_end.p99_ns)}"
        )
    return text


def _components(metrics: RunMetrics) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, padding=0)  # one space apart, that of the box
    # Where there is no room for all, the names give way, and numbers stay whole.
    table.add_column("component", overflow="fold")
    for heading in ("tasks", "in/s", "out/s", "done", "waits"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("busy", no_wrap=True)
    for heading in ("p50", "p99", "err"):
        table.add_column(heading, justify="right", no_wrap=True)
    for component in metrics.components:
        table.add_row(*_component_cells(component))
    return table


def _component_cells(component: ComponentMetrics) -> list[RenderableType]:
    latency = component.latency
    return [
        Text(component.name, style="cyan" if component.kind == "spout" else ""),
        str(component.tasks),
        _number(component.processed_per_s) if component.kind == "bolt" else "",
        _number(component.emitted_per_s),
        _count(component.processed),
        Text(_count(component.backlog), style="yellow" if component.backlog > 10_000 else ""),
        _bar(component.busiest_share),
        duration(latency.p50_ns) if latency else "",
        duration(latency.p99_ns) if latency else "",
        Text(_count(component.failed), style="red") if component.failed else "",
    ]


def _edges(metrics: RunMetrics) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("edge", overflow="fold")
    for heading in ("tuples/s", "bytes/s", "hop p50", "hop p99"):
        table.add_column(heading, justify="right", no_wrap=True)
    for edge in metrics.edges:
        table.add_row(
            Text(_edge_name(edge)), _number(edge.tuples_per_s), _number(edge.bytes_per_s), *_p50_p99(edge.hop)
        )
    return table


def _edge_name(edge: EdgeMetrics) -> str:
    stream = "" if edge.stream == "default" else f".{edge.stream}"
    return f"{edge.source}{stream} → {edge.target}"


def _p50_p99(latency: Latency | None) -> tuple[str, str]:
    return ("", "") if latency is None else (duration(latency.p50_ns), duration(latency.p99_ns))


def _failures(metrics: RunMetrics) -> Table:
    table = Table(show_edge=False, pad_edge=False, title="exceptions in user code", title_justify="left")
    table.add_column("component", overflow="fold", max_width=24)
    table.add_column("count", justify="right", no_wrap=True)
    table.add_column("what", overflow="fold")
    for failure in metrics.failures[:MOST_FAILURES]:
        what = _one_line(f"{failure.kind}: {failure.message}")
        table.add_row(Text(failure.component), f"{failure.count:,}", Text(what))
    return table


def _one_line(text: str) -> str:
    """The first line of what users or remote places say, no longer than a few lines of a terminal."""
    line = "".join(character if character.isprintable() else " " for character in text.strip().partition("\n")[0])
    return line if len(line) <= MOST_CHARACTERS else f"{line[: MOST_CHARACTERS - 1]}…"


def _bar(share: float) -> Text:
    share = min(1.0, max(0.0, share))
    filled = round(share * BAR_WIDTH)
    style = "red" if share > 0.9 else "green"
    return Text.assemble(("█" * filled, style), ("░" * (BAR_WIDTH - filled), "dim"), f" {share:4.0%}")


def _count(value: int) -> str:
    """To the last tuple, as long as there is room."""
    return f"{value:,}" if value < 10_000_000 else _number(value)


def _number(value: float) -> str:
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
