"""What a network of nodes can do, whatever it is made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from penstock.devcluster.layout import NodePlace
from penstock.devcluster.settings import Shape

__all__ = ["Network"]


class Network(Protocol):
    """Nodes at addresses, joined with each other and with this machine."""

    def build(self) -> None:
        """Makes what is to be made."""

    def command_at(self, node: NodePlace, command: Sequence[str]) -> list[str]:
        """What to run here so that `command` runs at a node."""

    def environment_at(self, node: NodePlace) -> dict[str, str]:
        """What processes of a node have to be told about where they are."""

    def cut_off(self, node: NodePlace) -> None:
        """Nothing reaches the node any more, and nothing leaves it."""

    def rejoin(self, node: NodePlace) -> None:
        """Undoes `cut_off`."""

    def shape(self, node: NodePlace, shape: Shape) -> None:
        """Shapes the node's traffic so, whatever it was like before."""
