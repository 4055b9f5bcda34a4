"""A place in a topology for the rows of a DataFrame."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.topology.emit import Outputs
from penstock.topology.spouts import Spout

__all__ = ["FromFrame"]


class FromFrame(Spout):
    """A spout that has no tuples of its own: ``ps.transform`` puts the rows of a DataFrame in its place.

    >>> FromFrame("word", "count").fields
    ('word', 'count')

    Args:
        fields: the columns that are taken from the DataFrame, by name.
    """

    def __init__(self, *fields: str) -> None:
        self.fields = fields

    def problems(self, tasks: int, fields: tuple[str, ...]) -> Iterator[str]:  # noqa: ARG002
        """That nobody has put a DataFrame in its place."""
        yield "FromFrame: wanted a DataFrame, as in ps.transform(topo, {name: df}, ...), got none"

    def next(self) -> Outputs:
        """Nothing, ever."""
        raise StopIteration

    def __repr__(self) -> str:
        return f"FromFrame({', '.join(map(repr, self.fields))})"
