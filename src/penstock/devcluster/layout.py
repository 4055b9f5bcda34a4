"""Addresses and names of a cluster: pure arithmetic, so that who cleans up knows what there was to be.

All names hold the cluster's id, which is random: what carries them is ours, and nobody else's.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Network

import msgspec

from penstock.errors import DevClusterError

__all__ = ["ID_BYTES", "Layout", "NodePlace", "free_block", "loopback_layout", "namespace_layout"]

ID_BYTES = 4
"""As many random bytes name a cluster. In hex they fit, with a node's number, into the 15 letters of a link's name."""

# Reserved for testing networks (RFC 2544), so that no real network is hidden: 512 blocks of 254 addresses.
_NAMESPACE_RANGE = IPv4Network("198.18.0.0/15")
# All of 127.0.0.0/8 is this machine; 127.0.0.x is what other people use.
_LOOPBACK_RANGE = IPv4Network("127.18.0.0/15")
_BLOCK_PREFIX = 24
_FIRST_NODE = 10


class NodePlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where a node is."""

    number: int
    address: str
    namespace: str | None = None
    """The network namespace that all its processes are in; None: the machine's own."""
    link: str | None = None
    """The end of its cable that is plugged into the bridge."""

    @property
    def host_name(self) -> str:
        """What a node that has a name of its own is called."""
        return f"node-{self.number}"


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    """Where everything is."""

    cluster: str
    block: str
    """The network that all addresses are of."""
    host_address: str
    """Where the master is, and drivers outside of the nodes."""
    nodes: tuple[NodePlace, ...]
    bridge: str | None = None
    """What the nodes' cables are plugged into; None: there are no cables."""


def namespace_layout(cluster: str, nodes: int, block: IPv4Network) -> Layout:
    """Each node in a namespace, with a cable to one bridge. The bridge has the host's address."""
    bridge = f"pk{cluster}"
    places = (
        NodePlace(
            number=number,
            address=str(block[_FIRST_NODE + number]),
            namespace=f"penstock-{cluster}-{number}",
            link=f"{bridge}-{number}",
        )
        for number in range(nodes)
    )
    return Layout(cluster=cluster, block=str(block), host_address=str(block[1]), nodes=tuple(places), bridge=bridge)


def loopback_layout(cluster: str, nodes: int, block: IPv4Network) -> Layout:
    """Each node at a loopback address of its own."""
    places = (NodePlace(number=number, address=str(block[_FIRST_NODE + number])) for number in range(nodes))
    return Layout(cluster=cluster, block=str(block), host_address=str(block[1]), nodes=tuple(places))


def free_block(taken: Iterable[IPv4Network], *, loopback: bool) -> IPv4Network:
    """The first network that overlaps with none of those taken."""
    avoid = list(taken)
    everything = _LOOPBACK_RANGE if loopback else _NAMESPACE_RANGE
    for block in everything.subnets(new_prefix=_BLOCK_PREFIX):
        if not any(block.overlaps(other) for other in avoid):
            return block
    message = f"no network is free in {everything}: {len(avoid)} are taken by clusters and interfaces of this machine"
    raise DevClusterError(message)
