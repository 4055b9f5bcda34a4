"""A run in the terminal: who does how much, what waits, how long it takes, what goes wrong."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from penstock.control.metrics import ComponentMetrics, EdgeMetrics, Latency, RunMetrics
from penstock.control.pressure_metrics import PressureMetrics
from penstock.control.status import Phase, RunStatus
from penstock.flow.relief import ReliefState
from penstock.ui.figures import bar, count, duration, number, one_line
from penstock.ui.placement_view import placement_view

__all__ = ["run_view"]

MOST_FAILURES = 5
MOST_NOTICES = 4


def run_view(status: RunStatus, metrics: RunMetrics) -> RenderableType:
    """The whole picture: headline, components, edges, placement, failures, notices, and why it failed.

    What users named or raised is never taken for the console's markup: all of it is Text.
    """
    parts: list[RenderableType] = [_headline(status, metrics), _components(metrics)]
    parts += [_pressure(one) for one in metrics.pressures if one.state is not ReliefState.FLOWING]
    if metrics.edges:
        parts.append(_edges(metrics))
    parts += placement_view(status, metrics)
    if metrics.failures:
        parts.append(_failures(metrics))
    parts += [Text(f"· {one_line(notice)}", style="yellow") for notice in status.notices[-MOST_NOTICES:]]
    if status.error:
        parts.append(Text(one_line(status.error), style="red"))
    return Group(*parts, Text())


def _headline(status: RunStatus, metrics: RunMetrics) -> Text:
    over = status.phase.is_over
    workers = [worker for worker in status.workers if worker.state != "released"]
    present = sum(over or worker.state not in ("awaited", "left") for worker in workers)
    nodes = len({worker.node for worker in status.workers if worker.node})
    text = Text.assemble(
        (status.topology, "bold"),
        ("  ", ""),
        (status.phase.value, "red" if status.phase is Phase.FAILED else ""),
        f"  {metrics.run_s:.1f} s  {present}/{len(workers)} workers",
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


def _pressure(one: PressureMetrics) -> Text:
    """Who is too slow, or waits for one that is, and for how long that was so in all."""
    lasted = duration(round((one.asked_s + one.stopping_s) * 1e9))
    return Text(f"{one}; {lasted}", style="red" if one.stops and not one.waits_for else "yellow")


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
        number(component.processed_per_s) if component.kind == "bolt" else "",
        number(component.emitted_per_s),
        count(component.processed),
        Text(count(component.backlog), style="yellow" if component.backlog > 10_000 else ""),
        bar(component.busiest_share),
        duration(latency.p50_ns) if latency else "",
        duration(latency.p99_ns) if latency else "",
        Text(count(component.failed), style="red") if component.failed else "",
    ]


def _edges(metrics: RunMetrics) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("edge", overflow="fold")
    for heading in ("tuples/s", "bytes/s", "hop p50", "hop p99"):
        table.add_column(heading, justify="right", no_wrap=True)
    for edge in metrics.edges:
        if edge.via is not None and not edge.tuples:  # nobody has helped there
            continue
        table.add_row(Text(_edge_name(edge)), number(edge.tuples_per_s), number(edge.bytes_per_s), *_p50_p99(edge.hop))
    return table


def _edge_name(edge: EdgeMetrics) -> str:
    stream = "" if edge.stream == "default" else f".{edge.stream}"
    if edge.via is not None:
        return f"{edge.source} for {edge.via}{stream} → {edge.target}"
    return f"{edge.source}{stream} → {edge.target}"


def _p50_p99(latency: Latency | None) -> tuple[str, str]:
    return ("", "") if latency is None else (duration(latency.p50_ns), duration(latency.p99_ns))


def _failures(metrics: RunMetrics) -> Table:
    table = Table(show_edge=False, pad_edge=False, title="exceptions in user code", title_justify="left")
    table.add_column("component", overflow="fold", max_width=24)
    table.add_column("count", justify="right", no_wrap=True)
    table.add_column("what", overflow="fold")
    for failure in metrics.failures[:MOST_FAILURES]:
        what = one_line(f"{failure.kind}: {failure.message}")
        table.add_row(Text(failure.component), f"{failure.count:,}", Text(what))
    return table
