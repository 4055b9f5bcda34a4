"""The commands."""

from __future__ import annotations

import sys
import time
from typing import Annotated

from cyclopts import App, Parameter
from rich.console import Console
from rich.live import Live
from rich.table import Table

from penstock.cli.loading import load_topology
from penstock.control.admin import AdminClient
from penstock.control.prometheus import prometheus_text
from penstock.control.registry import RunDirectory
from penstock.errors import PenstockError, TopologyError
from penstock.spark.doctor import diagnose
from penstock.spark.run import start
from penstock.spark.session import borrowed_session
from penstock.ui.run_view import run_view
from penstock.version import __version__

__all__ = ["main"]

app = App(name="penstock", help="Low-latency stream topologies in Python, on Spark.", version=__version__)
console = Console()

REFRESH_S = 0.5


def main() -> None:
    """The entry point. What we raise on purpose is shown without a traceback."""
    try:
        app()
    except PenstockError as error:
        Console(stderr=True).print(f"[red]{type(error).__name__}[/]: {error}", highlight=False)
        sys.exit(1)


@app.command
def run(
    target: str,
    *,
    workers: int = 2,
    min_workers: int | None = None,
    master: str | None = None,
    scheduler: str = "even",
    set_: Annotated[list[str] | None, Parameter(name="--set", help="NAME=VALUE for the topology function")] = None,
) -> None:
    """Run the topology in FILE[:name], with live progress and a summary at the end.

    Args:
        target: a Python file with a Topology, or a function that returns one, as FILE or FILE:name.
        workers: how many worker processes.
        min_workers: how few will do when Spark has no room for more.
        master: the Spark master's URL; without it, an embedded local Spark.
        scheduler: which scheduler places the tasks.
        set_: NAME=VALUE pairs for the function that makes the topology.
    """
    topology = load_topology(target, _pairs(set_ or []))
    with borrowed_session(master=master, workers=workers) as spark:
        handle = start(topology, workers=workers, min_workers=min_workers, spark=spark, scheduler=scheduler)
        with handle, Live(console=console, auto_refresh=False) as live:
            try:
                while not handle.wait(timeout_s=REFRESH_S):
                    live.update(run_view(handle.status(), handle.metrics()), refresh=True)
            except KeyboardInterrupt:
                console.print("stopping …")
                handle.stop()
                handle.wait()
            summary = handle.summary()
            live.update(run_view(summary.status, summary.metrics), refresh=True)
        for name in summary.collected_names:
            rows = summary.collected(name)
            console.print(f"[bold]{name}[/] collected {len(rows):,} tuples" + (", the last ones:" if rows else ""))
            for row in rows[-10:]:
                console.print(f"  {tuple(row)}", highlight=False)


@app.command(name="list")
def list_() -> None:
    """List the runs of this user on this machine."""
    table = Table(show_edge=False, pad_edge=False)
    for heading in ("run", "topology", "phase", "seconds", "workers"):
        table.add_column(heading)
    for file in RunDirectory.default().runs():
        with AdminClient(endpoint=file.endpoint, server_public=file.server_public, keys=file.keys) as client:
            status = client.status()
        table.add_row(file.run, status.topology, status.phase.value, f"{status.run_s:.0f}", str(len(status.workers)))
    console.print(table if table.row_count else "no runs")


@app.command
def status(name: str | None = None) -> None:
    """Show how far a run is, once. NAME is a run or a topology; without it, the only run there is."""
    with _client(name) as client:
        console.print(run_view(client.status(), client.metrics()))


@app.command
def top(name: str | None = None) -> None:
    """Watch a run: rates, backlog, busy share, latency, errors. Ctrl-C ends the watching, not the run."""
    with _client(name) as client, Live(console=console, auto_refresh=False) as live:
        try:
            while True:
                now = client.status()
                live.update(run_view(now, client.metrics()), refresh=True)
                if now.phase.is_over:
                    return
                time.sleep(REFRESH_S)
        except KeyboardInterrupt:
            return


@app.command
def metrics(name: str | None = None) -> None:
    """Print a run's metrics in Prometheus' text format."""
    with _client(name) as client:
        sys.stdout.write(prometheus_text(client.status().topology, client.metrics()))


@app.command
def stop(name: str | None = None) -> None:
    """End a run now, whatever is under way."""
    with _client(name) as client:
        client.stop()


@app.command
def drain(name: str | None = None) -> None:
    """End a run in good order: spouts stop, what is inside is finished."""
    with _client(name) as client:
        client.drain()


@app.command
def doctor(*, master: str | None = None, workers: int = 2) -> None:
    """Check that Spark can host workers here, and say what to change."""
    with borrowed_session(master=master, workers=workers) as spark:
        findings = diagnose(spark, workers=workers)
    for finding in findings:
        style = {"ok": "green", "warning": "yellow", "error": "red"}[finding.level]
        console.print(f"[{style}]{finding.level:8}[/] {finding.what}")
        if finding.level != "ok":
            console.print(f"         why: {finding.why}\n         do:  {finding.remedy}")
    if any(finding.level == "error" for finding in findings):
        sys.exit(1)


def _client(name: str | None) -> AdminClient:
    file = RunDirectory.default().find(name)
    return AdminClient(endpoint=file.endpoint, server_public=file.server_public, keys=file.keys)


def _pairs(texts: list[str]) -> dict[str, str]:
    pairs = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            message = f"--set wants NAME=VALUE, got {text!r}"
            raise TopologyError(message)
        pairs[name] = value
    return pairs
