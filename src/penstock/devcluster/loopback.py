"""Nodes as addresses of the loopback interface: for who may not make namespaces.

All of 127.0.0.0/8 is there without anybody's doing. Nothing can be cut off or slowed, and processes of different nodes
could share memory, so they are told that they are on different ones.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.devcluster.layout import Layout, NodePlace
from penstock.devcluster.settings import Shape
from penstock.errors import DevClusterError
from penstock.spark.node import NODE_VARIABLE

__all__ = ["LoopbackNetwork"]


class LoopbackNetwork:
    """A `Network` of loopback addresses."""

    def __init__(self, layout: Layout, *, why: str) -> None:
        self._layout = layout
        self._why = why

    def build(self) -> None:
        """It is there already."""

    def command_at(self, node: NodePlace, command: Sequence[str]) -> list[str]:  # noqa: ARG002
        """Here is there."""
        return list(command)

    def environment_at(self, node: NodePlace) -> dict[str, str]:
        """The address, and that this is a node of its own."""
        return {"SPARK_LOCAL_IP": node.address, NODE_VARIABLE: f"{self._layout.cluster}-{node.number}"}

    def cut_off(self, node: NodePlace) -> None:
        """Not to be had."""
        raise self._refusal(node, "be cut off")

    def rejoin(self, node: NodePlace) -> None:
        """Not to be had."""
        raise self._refusal(node, "rejoin")

    def shape(self, node: NodePlace, shape: Shape) -> None:
        """Not to be had, but for no shape at all."""
        if shape != Shape():
            raise self._refusal(node, "be slowed")

    def _refusal(self, node: NodePlace, what: str) -> DevClusterError:
        return DevClusterError(
            f"node {node.number} ({node.address}) cannot {what}: it is an address of the loopback interface and not a "
            f"network namespace ({self._why})"
        )
