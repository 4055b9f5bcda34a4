"""What a topology says of its edges: the fields that travel on them, how they are read, and how they are shared out."""

from __future__ import annotations

from typing import Any

from penstock._native import TupleDecoder
from penstock.plan.edges import Edge
from penstock.topology.groupings import By, Combine, Gather, Grouping, PartialKey, ToOne
from penstock.topology.topology import Topology
from penstock.topology.tuples import Tuple, tuple_class
from penstock.transport.values import row_decoder
from penstock.worker.gatherer import answer_class
from penstock.worker.runners import InputEdge

__all__ = ["EdgeFacts"]


class EdgeFacts:
    """All edges of one topology."""

    def __init__(self, topology: Topology) -> None:
        self._components = topology.components

    def grouping(self, edge: Edge) -> Grouping:
        """How its tuples are shared out."""
        return self._components[edge.target].inputs[edge.input].grouping

    def combine(self, edge: Edge) -> Combine | None:
        """How its tuples are put together on the way, if they are."""
        grouping = self.grouping(edge)
        return grouping.combine if isinstance(grouping, ToOne) else None

    def fields(self, edge: Edge) -> tuple[str, ...]:
        """The fields of its tuples."""
        return self._components[edge.emitter].streams[edge.stream]

    def tuple_class(self, edge: Edge) -> type[Any]:
        """The class of its tuples."""
        fields = self.fields(edge)
        gathers = isinstance(self.grouping(edge), Gather)
        return answer_class(fields) if gathers else tuple_class(edge.emitter, edge.stream, fields)

    def input(self, edge: Edge) -> InputEdge:
        """What a task must know that it leads to."""
        grouping = self.grouping(edge)
        return InputEdge(
            fields=self.fields(edge),
            make=self.tuple_class(edge),
            key_fields=grouping.fields if isinstance(grouping, By | PartialKey | Gather) else (),
            combined=self.combine(edge) is not None,
        )

    def decoder(self, edge: Edge) -> Any:
        """Reads a frame of its tuples."""
        made = self.tuple_class(edge)
        other = row_decoder(tuple[int, int, int, list[tuple[int, int]], list[made]])  # type: ignore[valid-type]
        return TupleDecoder(made, self.fields(edge), other) if issubclass(made, Tuple) else other

    def combined_decoder(self, edge: Edge) -> Any:
        """Reads a frame of one tuple that stands for several."""
        made = self.tuple_class(edge)
        return row_decoder(tuple[int, int, int, int, list[tuple[int, int]], made])  # type: ignore[valid-type]
