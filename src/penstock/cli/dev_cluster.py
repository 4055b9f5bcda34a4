"""The command `penstock dev-cluster`: a cluster in a box, and what can be done to it while it runs."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from typing import Annotated, Literal, TypeVar

from cyclopts import App, Parameter
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from penstock.devcluster import ClusterRegistry, DevCluster, DevClusterError, DevClusterSettings
from penstock.devcluster.control import Order, Request, Slow, Stop, Survey, ask
from penstock.devcluster.nodes import NodeStatus
from penstock.devcluster.quantities import parse_delay_s, parse_rate_bits_per_s, show_delay, show_rate
from penstock.devcluster.settings import Shape
from penstock.devcluster.sweep import sweep as sweep_registry

__all__ = ["app"]

app = App(
    name="dev-cluster",
    help="A real Spark cluster on this machine, whose nodes can be cut off, slowed and killed.",
    help_format="plaintext",
)
console = Console()

_STOP_PATIENCE_S = 60.0
_LOOK_EVERY_S = 0.1

_T = TypeVar("_T")

Node = Annotated[int, Parameter(help="the node's number; they count from 0.")]
Cluster = Annotated[
    str | None, Parameter(help="its id, or the beginning of it; without it, the only cluster there is.")
]
Rate = Annotated[str | None, Parameter(help="how fast a node's link is in each direction, such as 1gbit.")]
Delay = Annotated[str | None, Parameter(help="how long what a node sends is under way, such as 0.1ms.")]


@app.default
def start(
    *,
    nodes: int = 4,
    slots: int = 4,
    rate: Rate = None,
    delay: Delay = None,
    network: Literal["auto", "namespaces", "loopback"] = "auto",
    executor_memory_mib: int = 512,
    lost_after: str | None = None,
    sweep: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Start a cluster, and keep it until Ctrl-C. What clusters left that were killed is removed first.

    Args:
        nodes: how many nodes.
        slots: how many tasks, and so workers, each has room for.
        rate: how fast a node's link is in each direction, such as 1gbit.
        delay: how long what a node sends is under way, such as 0.1ms.
        network: how nodes are kept apart; auto takes namespaces where they can be had.
        executor_memory_mib: memory of each executor's JVM.
        lost_after: how long Spark hears nothing of a node until it takes it for lost, such as 20s.
        sweep: start nothing, only remove what is left of clusters whose owners were killed.
    """
    if sweep:
        registry = ClusterRegistry.default()
        with registry.locked():
            swept = sweep_registry(registry)
        console.print(f"swept what was left of {', '.join(swept)}" if swept else "nothing to sweep")
        return
    settings = _checked(
        lambda: DevClusterSettings(
            nodes=nodes,
            slots_per_node=slots,
            rate_bits_per_s=None if rate is None else parse_rate_bits_per_s(rate),
            delay_s=None if delay is None else parse_delay_s(delay),
            network=network,
            executor_memory_mib=executor_memory_mib,
            lost_after_s=DevClusterSettings().lost_after_s if lost_after is None else parse_delay_s(lost_after),
        )
    )
    for number in (signal.SIGTERM, signal.SIGHUP):  # so that to be ended politely is to end in good order
        signal.signal(number, signal.default_int_handler)
    try:
        with console.status("starting …") as status:

            def progress(words: str) -> None:
                status.update(f"{words} …")
                console.print(f"[dim]{escape(words)}[/]", highlight=False)

            cluster = DevCluster(settings, progress=progress)
        with cluster:
            _introduce(cluster)
            cluster.wait()
            console.print("stopping …")
    except KeyboardInterrupt:
        console.print("stopped")


@app.command(name="cut-off")
def cut_off(node: Node, /, *, cluster: Cluster = None) -> None:
    """Pull a node's plug: nothing reaches it, nothing leaves it, its processes live on."""
    _ask(cluster, Order(what="cut_off", node=node))


@app.command
def rejoin(node: Node, /, *, cluster: Cluster = None) -> None:
    """Join a node to the others again."""
    _ask(cluster, Order(what="rejoin", node=node))


@app.command
def slow(node: Node, /, *, rate: Rate = None, delay: Delay = None, cluster: Cluster = None) -> None:
    """Give a node's link another rate and delay. What is left out is as the cluster was started with."""
    request = _checked(
        lambda: Slow(
            node=node,
            rate_bits_per_s=None if rate is None else parse_rate_bits_per_s(rate),
            delay_s=None if delay is None else parse_delay_s(delay),
        )
    )
    _ask(cluster, request)


@app.command
def kill(node: Node, /, *, cluster: Cluster = None) -> None:
    """End everything that runs on a node, with SIGKILL."""
    _ask(cluster, Order(what="kill", node=node))


@app.command
def restart(node: Node, /, *, cluster: Cluster = None) -> None:
    """End everything that runs on a node, and start it anew."""
    _ask(cluster, Order(what="restart", node=node))


@app.command(name="list")
def list_() -> None:
    """List the clusters of this user, and their nodes."""
    registry = ClusterRegistry.default()
    states = registry.clusters()
    for state in states:
        if state.is_orphan():
            console.print(f"[bold]{state.cluster}[/] was killed: remove the rest with [bold]dev-cluster --sweep[/]")
            continue
        answer = ask(registry.folder(state.cluster), Survey())
        console.print(f"[bold]{state.cluster}[/] {answer.master_url}", highlight=False)
        console.print(_table(answer.nodes))
    if not states:
        console.print("no clusters")


@app.command
def stop(*, cluster: Cluster = None) -> None:
    """End a cluster, as Ctrl-C does where it was started."""
    registry = ClusterRegistry.default()
    state = registry.find(cluster)
    ask(registry.folder(state.cluster), Stop())
    deadline_s = time.monotonic() + _STOP_PATIENCE_S
    while registry.folder(state.cluster).exists():
        if time.monotonic() > deadline_s:
            message = f"cluster {state.cluster} was asked to stop, and its owner (pid {state.owner.pid}) keeps it"
            raise DevClusterError(message)
        time.sleep(_LOOK_EVERY_S)


def _ask(cluster: str | None, request: Request) -> None:
    registry = ClusterRegistry.default()
    answer = ask(registry.folder(registry.find(cluster).cluster), request)
    console.print(_table(answer.nodes))


def _checked(make: Callable[[], _T]) -> _T:
    """What `make` makes; a wrong value is an error of the user's, and shown as one."""
    try:
        return make()
    except ValueError as error:
        raise DevClusterError(str(error)) from error


def _introduce(cluster: DevCluster) -> None:
    for sentence in cluster.lacking:
        console.print(f"[yellow]not to be had here[/]: {escape(sentence)}", highlight=False)
    console.print(_table(cluster.nodes))
    workers = cluster.settings.nodes * cluster.settings.slots_per_node
    lines = [
        f"[bold]{cluster.master_url}[/] is up, with room for {workers} workers; its logs are in {cluster.folder}",
        "Run a topology on it:",
        f"  export SPARK_CONF_DIR={cluster.folder / 'conf'}",
        f"  penstock run FILE --workers {workers} --master {cluster.master_url}",
        "Trouble it, from another terminal:",
        "  penstock dev-cluster cut-off 1       then: rejoin 1, slow 1 --rate 10mbit, kill 1, restart 1, list",
        "Ctrl-C ends it.",
    ]
    console.print("\n".join(lines), highlight=False, soft_wrap=True)


def _table(nodes: tuple[NodeStatus, ...]) -> Table:
    table = Table(show_edge=False, pad_edge=False)
    for heading in ("node", "address", "state", "link", "processes", "namespace"):
        table.add_column(heading)
    for node in nodes:
        place = node.namespace or "none: loopback"
        table.add_row(str(node.number), node.address, node.state, _show_shape(node.shape), str(node.processes), place)
    return table


def _show_shape(shape: Shape) -> str:
    rate = None if shape.rate_bits_per_s is None else show_rate(shape.rate_bits_per_s)
    delay = None if shape.delay_s is None else f"{show_delay(shape.delay_s)} late"
    return ", ".join(text for text in (rate, delay) if text is not None) or "as it is"
