"""The commands."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Sequence
from typing import Annotated

from cyclopts import App, Parameter
from cyclopts.validators import Number
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from penstock.cli.arguments import pairs
from penstock.cli.dev_cluster import app as dev_cluster
from penstock.cli.loading import load_topology
from penstock.cli.moving import register as register_moving
from penstock.cli.runs import Name, console, find, reach, say
from penstock.cli.scheduling import register as register_scheduling
from penstock.control.admin import AdminClient
from penstock.control.prometheus import prometheus_text
from penstock.control.protocol import AskStatus, StatusAnswer
from penstock.control.registry import RunDirectory, RunFile
from penstock.control.status import RunStatus
from penstock.errors import PenstockError, RunError, StartError
from penstock.flow.delivery import Delivery
from penstock.plan.schedulers.registry import scheduler as scheduler_named
from penstock.spark.doctor import diagnose
from penstock.spark.guarantee import delivery_of
from penstock.spark.handle import Run
from penstock.spark.interrupts import plain_interrupts, terminated_like_interrupted
from penstock.spark.run import start
from penstock.spark.session import borrowed_session
from penstock.spark.summary import Summary
from penstock.ui.run_view import run_view
from penstock.version import __version__

__all__ = ["main"]

app = App(
    name="penstock",
    help="Low-latency stream topologies in Python, on Spark.",
    version=__version__,
    help_format="plaintext",
)
app.command(dev_cluster)
register_moving(app)
register_scheduling(app)

REFRESH_S = 0.5
# How long `list` waits for each run: the others are to be seen even if one does not answer.
LIST_PATIENCE_S = 2.0
# What a shell expects of a program that Ctrl-C ended.
INTERRUPTED = 130

Workers = Annotated[int, Parameter(validator=Number(gte=1))]


def _known_scheduler(_: object, name: str) -> None:
    scheduler_named(name)


def main(arguments: Sequence[str] | None = None) -> None:
    """The entry point. What we raise on purpose is shown without a traceback.

    The exit code is 0 when all went well, 1 when it did not, 2 for arguments that make no sense, 130 after Ctrl-C.
    """
    # Of Spark's pandas functions, none of which these commands call; `penstock doctor` tells of it.
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    try:
        app(arguments)
    except PenstockError as error:
        # As it is: a traceback or a master's `local[2]` may look like the console's own markup.
        told = Text.assemble((type(error).__name__, "red"), f": {error}")
        Console(stderr=True).print(told, soft_wrap=True)
        sys.exit(1)


@app.command
def run(
    target: str,
    /,
    *,
    workers: Workers = 2,
    min_workers: Annotated[int | None, Parameter(validator=Number(gte=1))] = None,
    master: str | None = None,
    scheduler: Annotated[str, Parameter(validator=_known_scheduler)] = "even",
    delivery: Delivery | None = None,
    checkpoint: str | None = None,
    set_: Annotated[list[str] | None, Parameter(name="--set", negative=())] = None,
) -> int:
    """Run the topology in FILE[:name], with live progress and a summary at the end. Ctrl-C stops it.

    For example: penstock run wordcount.py --workers 3 --set tasks=4

    Args:
        target: a Python file with a Topology, or with a function topology() that returns one; FILE:name says which.
        workers: how many worker processes.
        min_workers: how few will do when Spark has no room for more.
        master: the Spark master's URL, such as spark://host:7077; without it, an embedded local Spark.
        scheduler: which scheduler places the tasks.
        delivery: what is promised when something dies; at least once, or exactly once if there is a checkpoint.
        checkpoint: a path or URL to save all state at, and to go on from.
        set_: NAME=VALUE for the function that makes the topology. Can be given several times.
    """
    # Everything that can be wrong is found before seconds are spent on starting Spark.
    topology = load_topology(target, pairs(set_ or []))
    topology.check()
    if min_workers is not None and min_workers > workers:
        message = f"--min-workers {min_workers} is more than --workers {workers}"
        raise StartError(message)
    try:
        promised = delivery_of(delivery, checkpoint)
    except ValueError as error:
        raise StartError(str(error)) from None
    with (
        terminated_like_interrupted(),
        borrowed_session(master=master, workers=workers) as spark,
        plain_interrupts(),
        start(
            topology,
            workers=workers,
            min_workers=min_workers,
            spark=spark,
            scheduler=scheduler,
            delivery=promised,
            checkpoint=checkpoint,
        ) as handle,
    ):
        interrupted = _watched(handle)
        summary = handle.summary()
    _report(summary)
    return INTERRUPTED if interrupted else 0


def _watched(handle: Run) -> bool:
    """Shows a run until it is over. On Ctrl-C it is stopped, and True returned."""
    with Live(console=console, auto_refresh=False) as live:
        try:
            while not handle.wait(timeout_s=REFRESH_S):
                live.update(run_view(handle.status(), handle.metrics()), refresh=True)
        except KeyboardInterrupt:
            say("stopping …")
            handle.stop()
            return True
        finally:
            live.update(run_view(handle.status(), handle.metrics()), refresh=True)
    return False


def _report(summary: Summary) -> None:
    for name in summary.collected_names:
        rows = summary.collected(name)
        say(f"{name} collected {len(rows):,} tuples" + (", the last ones:" if rows else ""))
        for row in rows[-10:]:
            say(f"  {tuple(row)}")
    for failure in summary.metrics.failures:
        say(f"{failure.component}: {failure.count:,} × {failure.kind}, the first time:\n{failure.traceback.rstrip()}")
    say(str(summary))


@app.command(name="list")
def list_() -> None:
    """List the runs of this user on this machine."""
    table = Table(show_edge=False, pad_edge=False)
    for heading in ("run", "topology", "phase", "seconds", "workers"):
        table.add_column(heading, overflow="fold")
    for file in RunDirectory.default().runs():
        table.add_row(*map(Text, (file.run, file.topology, *_state_of(file))))
    if table.row_count:
        console.print(table)
    else:
        say("no runs")


def _state_of(file: RunFile) -> tuple[str, str, str]:
    """Phase, seconds and workers."""
    try:
        with reach(file) as client:
            answer = client.ask(AskStatus(), timeout_s=LIST_PATIENCE_S)
    except RunError:  # just over, or its driver hangs or is on another machine
        return f"no answer from {file.host}", "", ""
    assert isinstance(answer, StatusAnswer)
    return answer.status.phase.value, f"{answer.status.run_s:.0f}", str(len(answer.status.workers))


@app.command
def status(name: Name = None, /) -> None:
    """Show once how far a run is: rates, backlog, busy share, latency, errors."""
    with reach(find(name)) as client:
        console.print(run_view(client.status(), client.metrics()))


@app.command
def top(name: Name = None, /) -> None:
    """Watch a run until it is over. Ctrl-C ends the watching, not the run."""
    file = find(name)
    try:
        with reach(file) as client, Live(console=console, auto_refresh=False) as live:
            while (now := _status_until_gone(client, file)) is not None:
                live.update(run_view(now, client.metrics()), refresh=True)
                if now.phase.is_over:
                    break
                time.sleep(REFRESH_S)
    except KeyboardInterrupt:
        return
    say(f"run {file.run} ({file.topology}) is over")


def _status_until_gone(client: AdminClient, file: RunFile) -> RunStatus | None:
    """How a run stands; None when it is over and its driver has gone on to other things."""
    if not _is_published(file):  # a driver withdraws a run before it stops answering
        return None
    try:
        return client.status()
    except RunError:
        if _is_published(file):
            raise
        return None


@app.command
def metrics(name: Name = None, /) -> None:
    """Print a run's metrics in Prometheus' text format."""
    with reach(find(name)) as client:
        sys.stdout.write(prometheus_text(client.status(), client.metrics()))


@app.command
def stop(name: Name = None, /) -> None:
    """End a run now, whatever is under way. Does not wait for the end."""
    file = find(name)
    with reach(file) as client:
        client.stop()
    say(f"run {file.run} ({file.topology}) was told to stop")


@app.command
def drain(name: Name = None, /) -> None:
    """End a run in good order: spouts stop, what is inside is finished. Does not wait for the end."""
    file = find(name)
    with reach(file) as client:
        client.drain()
    say(f"run {file.run} ({file.topology}) was told to drain")


@app.command
def doctor(*, master: str | None = None, workers: Workers = 2) -> int:
    """Check that Spark can host workers here, and say what to change. The exit code is 1 if they could not run.

    Args:
        master: the Spark master's URL, such as spark://host:7077; without it, an embedded local Spark.
        workers: how many worker processes are to run there.
    """
    with borrowed_session(master=master, workers=workers) as spark:
        findings = diagnose(spark, workers=workers)
    for finding in findings:
        style = {"ok": "green", "warning": "yellow", "error": "red"}[finding.level]
        console.print(Text.assemble((f"{finding.level:8}", style), f" {finding.what}"), soft_wrap=True)
        if finding.level != "ok":
            say(f"         why: {finding.why}\n         do:  {finding.remedy}")
    return int(any(finding.level == "error" for finding in findings))


def _is_published(file: RunFile) -> bool:
    return any(known.run == file.run for known in RunDirectory.default().runs())
