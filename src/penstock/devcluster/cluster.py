"""A running cluster in a box, and what can be done to it."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Sequence
from ipaddress import IPv4Network
from types import TracebackType
from typing import Self

from penstock.devcluster.abilities import Abilities, probe
from penstock.devcluster.control import ControlServer
from penstock.devcluster.daemons import EXECUTOR_CLASS, Daemon, daemon_environment, master_command, worker_command
from penstock.devcluster.driver_settings import driver_settings, write_defaults
from penstock.devcluster.layout import ID_BYTES, Layout, NodePlace, free_block, loopback_layout, namespace_layout
from penstock.devcluster.loopback import LoopbackNetwork
from penstock.devcluster.marks import MARK_VARIABLE, kill_marked, kill_running, mark_of, marked_processes
from penstock.devcluster.namespaces import NamespaceNetwork, networks_of_this_machine
from penstock.devcluster.network import Network
from penstock.devcluster.nodes import NodeStatus
from penstock.devcluster.registry import ClusterRegistry, ClusterState
from penstock.devcluster.settings import DevClusterSettings, Shape
from penstock.devcluster.sweep import clear, sweep
from penstock.errors import DevClusterError
from penstock.spark.java import require_java

__all__ = ["DevCluster"]

_MASTER = "master"


class _Node:
    """What the owner knows of a node."""

    def __init__(self, place: NodePlace, shape: Shape) -> None:
        self.place = place
        self.shape = shape
        self.is_cut_off = False
        self.daemon: Daemon | None = None
        self.launches = 0


class DevCluster:
    """A Spark standalone cluster on this machine. Starting takes some seconds; leaving its block removes all of it.

    Args:
        settings: what it looks like.
        registry: where clusters are kept. What killed owners left there is swept first.
        progress: told, in a few words, what is being done.

    Raises:
        StartError: there is no Java that Spark can use.
        DevClusterError: it cannot be had here, or did not start; the text has the end of the log.
    """

    def __init__(
        self,
        settings: DevClusterSettings | None = None,
        *,
        registry: ClusterRegistry | None = None,
        progress: Callable[[str], object] = lambda _: None,
    ) -> None:
        require_java()
        self.settings = settings or DevClusterSettings()
        self.lacking: tuple[str, ...] = ()
        """A sentence for each thing that was asked for and cannot be had on this machine."""
        self.master_url = ""
        self._registry = registry or ClusterRegistry.default()
        self._progress = progress
        self._lock = threading.RLock()
        self._stop_asked = threading.Event()
        self._master: Daemon | None = None
        self._control: ControlServer | None = None
        self._take_place()
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def _take_place(self) -> None:
        """Finds out what can be had, and writes down what will be made before anything is."""
        abilities = probe()
        namespaces = abilities.network_for(self.settings) == "namespaces"
        if not namespaces:
            abilities = Abilities.without_namespaces(abilities.no_namespaces or "network='loopback' was asked for")
        self._abilities = abilities
        self.lacking = tuple(abilities.lacking(self.settings))
        self.id = secrets.token_hex(ID_BYTES)
        with self._registry.locked():
            if swept := sweep(self._registry):
                self._progress(f"swept what was left of {', '.join(swept)}")
            taken = self._registry.blocks()
            if namespaces:
                block = free_block([*taken, *networks_of_this_machine()], loopback=False)
            else:
                block = free_block(taken, loopback=True)
            self._layout = self._laid_out(block, namespaces=namespaces)
            self._state = ClusterState(cluster=self.id, settings=self.settings, layout=self._layout)
            self.folder = self._registry.add(self._state)
            """Everything of the cluster that is a file: logs, what executors write. Gone at its end."""
        self._network: Network = (
            NamespaceNetwork(self._layout, self.folder)
            if namespaces
            else LoopbackNetwork(self._layout, why=str(abilities.no_namespaces))
        )
        self._nodes = [_Node(place, abilities.shape_for(self.settings.shape)) for place in self._layout.nodes]

    def _laid_out(self, block: IPv4Network, *, namespaces: bool) -> Layout:
        lay_out = namespace_layout if namespaces else loopback_layout
        return lay_out(self.id, self.settings.nodes, block)

    def _start(self) -> None:
        self._progress(f"joining {len(self._nodes)} nodes in {self._layout.block}")
        for name in ("conf", "tmp"):
            (self.folder / name).mkdir()
        self._network.build()
        for node in self._nodes:
            self._network.shape(node.place, node.shape)
        self._progress("starting Spark's master")
        address = self._layout.host_address
        told = {"SPARK_LOCAL_IP": address, MARK_VARIABLE: mark_of(self.id, _MASTER)}
        log = self.folder / "master.log"
        self._master = Daemon("Spark's master", master_command(address), self._daemon_environment() | told, log)
        self.master_url = self._master.await_line(
            r"Starting Spark master at (spark://\S+)", self.settings.start_timeout_s
        )[1]
        write_defaults(self.folder / "conf", self.spark_settings())
        for node in self._nodes:
            self._launch(node)
        for node in self._nodes:
            self._await_registered(node)
            self._progress(f"node {node.place.number} is up at {node.place.address}")
        self._control = ControlServer(self, self.folder)

    @property
    def nodes(self) -> tuple[NodeStatus, ...]:
        """How each node is."""
        return tuple(self._status(node) for node in self._nodes)

    @property
    def can_cut_off(self) -> bool:
        """Whether nodes can be cut off: they are namespaces."""
        return self._abilities.no_namespaces is None

    @property
    def can_slow(self) -> bool:
        """Whether nodes can be given another rate."""
        return self._abilities.no_rates is None

    def cut_off(self, node: int) -> None:
        """Nothing reaches the node any more and nothing leaves it; all its processes live on."""
        with self._lock:
            found = self._node(node)
            self._network.cut_off(found.place)
            found.is_cut_off = True

    def rejoin(self, node: int) -> None:
        """Joins a node that was cut off to the others again."""
        with self._lock:
            found = self._node(node)
            self._network.rejoin(found.place)
            found.is_cut_off = False

    def slow(self, node: int, *, rate_bits_per_s: int | None = None, delay_s: float | None = None) -> None:
        """Gives a node's link another rate and delay. What is left out is as in the settings of the cluster."""
        wanted = Shape(
            rate_bits_per_s=rate_bits_per_s or self.settings.rate_bits_per_s, delay_s=delay_s or self.settings.delay_s
        )
        with self._lock:
            found = self._node(node)
            if rate_bits_per_s is not None and self._abilities.no_rates is not None:
                message = f"node {node} cannot have a rate: {self._abilities.no_rates}"
                raise DevClusterError(message)
            if delay_s is not None and self._abilities.no_delays is not None:
                message = f"node {node} cannot have a delay: {self._abilities.no_delays}"
                raise DevClusterError(message)
            shape = self._abilities.shape_for(wanted)
            self._network.shape(found.place, shape)
            found.shape = shape

    def kill(self, node: int) -> None:
        """Ends everything that runs on a node with SIGKILL. It stays dead until it is restarted."""
        with self._lock:
            found = self._node(node)
            kill_marked(self.id, node)
            if found.daemon is not None:
                found.daemon.reap()

    def kill_executors(self, node: int) -> None:
        """Ends the executors' JVMs on a node with SIGKILL. Spark starts others, there or elsewhere."""
        with self._lock:
            _ = self._node(node)
            kill_running(self.id, node, EXECUTOR_CLASS)

    def restart(self, node: int) -> None:
        """Ends everything that runs on a node, starts it anew, and returns when it has found its master."""
        with self._lock:
            found = self._node(node)
            if found.is_cut_off:
                message = f"node {node} cannot be restarted while it is cut off: it would not find its master"
                raise DevClusterError(message)
            self.kill(node)
            self._launch(found)
            self._await_registered(found)

    def spark_settings(self, driver_node: int | None = None) -> dict[str, str]:
        """The settings of a driver that runs on this machine outside of the nodes, or on one of them."""
        address = self._layout.host_address if driver_node is None else self._node(driver_node).place.address
        return driver_settings(
            self.settings, master_url=self.master_url, driver_address=address, temporary=self.folder / "tmp"
        )

    def command_at(self, node: int, command: Sequence[str]) -> list[str]:
        """What to run here so that `command` runs on a node, as one of its processes: killed when the node is."""
        place = self._node(node).place
        told = self._network.environment_at(place) | {MARK_VARIABLE: mark_of(self.id, node)}
        pairs = [f"{name}={value}" for name, value in told.items()]
        return self._network.command_at(place, ["env", *pairs, *command])

    def ask_to_stop(self) -> None:
        """Lets `wait` return."""
        self._stop_asked.set()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Returns True when somebody asked the cluster to stop, as `penstock dev-cluster stop` does."""
        return self._stop_asked.wait(timeout_s)

    def close(self) -> None:
        """Removes all of it. Nobody is asked to leave in good order: what they would tidy up goes anyway."""
        if self._control is not None:
            self._control.close()
            self._control = None
        with self._lock:
            clear(self._registry, self._state)
            for daemon in [self._master, *(node.daemon for node in self._nodes)]:
                if daemon is not None:
                    daemon.reap()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"DevCluster({self.id}, nodes={len(self._nodes)}, master_url={self.master_url!r})"

    def _node(self, number: int) -> _Node:
        if not 0 <= number < len(self._nodes):
            message = f"cluster {self.id} has nodes 0 to {len(self._nodes) - 1}, got {number}"
            raise DevClusterError(message)
        return self._nodes[number]

    def _status(self, node: _Node) -> NodeStatus:
        lives = node.daemon is not None and node.daemon.lives
        return NodeStatus(
            number=node.place.number,
            address=node.place.address,
            namespace=node.place.namespace,
            state="dead" if not lives else "cut off" if node.is_cut_off else "up",
            shape=node.shape,
            processes=len(marked_processes(self.id, node.place.number)),
        )

    def _launch(self, node: _Node) -> None:
        place = node.place
        node.launches += 1
        told = self._network.environment_at(place) | {MARK_VARIABLE: mark_of(self.id, place.number)}
        work = self.folder / f"work-{place.number}"
        node.daemon = Daemon(
            f"node {place.number} ({place.address})",
            self._network.command_at(place, worker_command(place.address, self.master_url, work, self.settings)),
            self._daemon_environment() | told,
            self.folder / f"node-{place.number}-{node.launches}.log",
        )

    def _await_registered(self, node: _Node) -> None:
        assert node.daemon is not None
        node.daemon.await_line(r"Successfully registered with master", self.settings.start_timeout_s)

    def _daemon_environment(self) -> dict[str, str]:
        return daemon_environment(self.settings, temporary=self.folder / "tmp", configuration=self.folder / "conf")
