"""Nodes as network namespaces, joined by virtual Ethernet and one bridge, which this machine has an address at.

    this machine                     namespace of node 0
      bridge (host address) ── link ════ eth0 (address)     a cable: what enters one end leaves the other
             └──────────────── link ════ eth0 (address)     namespace of node 1

Nothing leads from there to the world, not even to a name server: to ask one fails at once, instead of after a while.
So a node has a host name of its own and a list of the others', which hides the machine's for its processes alone.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from ipaddress import IPv4Network
from pathlib import Path

from penstock.devcluster.commands import output_of, run_command
from penstock.devcluster.layout import Layout, NodePlace
from penstock.devcluster.settings import Shape
from penstock.devcluster.shaping import queue_commands

__all__ = ["NamespaceNetwork", "networks_of_this_machine", "remove_namespaces"]

_NAMESPACES = Path("/run/netns")
_DEVICES = Path("/sys/class/net")
_INNER = "eth0"
# `ip netns exec` has given the process a view of the file system that nobody else has, so this changes nobody's files.
_SETTLE = 'mount --bind "$0" /etc/hosts && echo "$1" > /proc/sys/kernel/hostname && shift && exec "$@"'


def networks_of_this_machine() -> list[IPv4Network]:
    """The networks that this machine has a route to, without that to everywhere."""
    routes = json.loads(output_of(["ip", "-json", "-4", "route", "show", "table", "all"]) or "[]")
    places = [route["dst"] for route in routes if route["dst"] != "default"]
    return [IPv4Network(place, strict=False) for place in places]


class NamespaceNetwork:
    """A `Network` of namespaces. Keeps a file in `folder`."""

    def __init__(self, layout: Layout, folder: Path) -> None:
        self._layout = layout
        self._hosts = folder / "hosts"

    def build(self) -> None:
        """Makes the bridge, the namespaces and the cables."""
        self._hosts.write_text(hosts_file(self._layout))
        for command in build_commands(self._layout):
            run_command(command)

    def command_at(self, node: NodePlace, command: Sequence[str]) -> list[str]:
        """In the node's namespace and under its name. The process keeps its pid: each becomes the next."""
        settle = ["unshare", "--uts", "sh", "-c", _SETTLE, str(self._hosts), node.host_name]
        return ["ip", "netns", "exec", _namespace(node), *settle, *command]

    def environment_at(self, node: NodePlace) -> dict[str, str]:
        """The address. That the node is one of its own, processes see by their namespace."""
        return {"SPARK_LOCAL_IP": node.address}

    def cut_off(self, node: NodePlace) -> None:
        """Pulls the plug: connections stay open, and what they send is lost."""
        run_command(["ip", "link", "set", "dev", _link(node), "down"])

    def rejoin(self, node: NodePlace) -> None:
        """Puts it in again."""
        run_command(["ip", "link", "set", "dev", _link(node), "up"])

    def shape(self, node: NodePlace, shape: Shape) -> None:
        """Sets queues at both ends of the node's cable, in place of those that are there."""
        inside = ["tc", "-netns", _namespace(node)]
        for prefix, device, at_node in ((["tc"], _link(node), False), (inside, _INNER, True)):
            # "noqueue" is what a virtual link has by nature: to set it removes what was set before, if anything was.
            run_command([*prefix, "qdisc", "replace", "dev", device, "root", "noqueue"])
            for command in queue_commands(device, shape, at_node=at_node):
                run_command([*prefix, *command])


def remove_namespaces(layout: Layout) -> None:
    """Removes what there is of a network. Processes in a namespace keep it alive, without a name."""
    # Links first: to remove one end of a cable removes both, at once; with a namespace they go some time later.
    for device in [*(node.link for node in layout.nodes), layout.bridge]:
        if device is not None and (_DEVICES / device).exists():
            run_command(["ip", "link", "delete", "dev", device])
    for node in layout.nodes:
        if node.namespace is not None and (_NAMESPACES / node.namespace).exists():
            run_command(["ip", "netns", "delete", node.namespace])


def hosts_file(layout: Layout) -> str:
    """What every node has as /etc/hosts."""
    lines = ["127.0.0.1 localhost", *(f"{node.address} {node.host_name}" for node in layout.nodes)]
    return "".join(f"{line}\n" for line in lines)


def build_commands(layout: Layout) -> list[list[str]]:
    """Everything that is to be run, in order."""
    assert layout.bridge is not None, "a layout with namespaces has a bridge"
    prefix_length = layout.block.partition("/")[2]
    commands = [
        ["ip", "link", "add", "name", layout.bridge, "type", "bridge", "forward_delay", "0", "stp_state", "0"],
        ["ip", "address", "add", f"{layout.host_address}/{prefix_length}", "dev", layout.bridge],
        ["ip", "link", "set", "dev", layout.bridge, "up"],
    ]
    for node in layout.nodes:
        namespace, link = _namespace(node), _link(node)
        inside = ["ip", "-netns", namespace]
        commands += [
            ["ip", "netns", "add", namespace],
            # Both ends are made where they belong, so that no name of ours ever stands in the way of another's eth0.
            ["ip", "link", "add", "name", link, "type", "veth", "peer", "name", _INNER, "netns", namespace],
            ["ip", "link", "set", "dev", link, "master", layout.bridge, "up"],
            [*inside, "address", "add", f"{node.address}/{prefix_length}", "dev", _INNER],
            [*inside, "link", "set", "dev", _INNER, "up"],
            [*inside, "link", "set", "dev", "lo", "up"],
        ]
    return commands


def _namespace(node: NodePlace) -> str:
    assert node.namespace is not None, f"node {node.number} has no namespace"
    return node.namespace


def _link(node: NodePlace) -> str:
    assert node.link is not None, f"node {node.number} has no link"
    return node.link
