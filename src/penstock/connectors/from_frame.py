"""A place in a topology for the rows of a DataFrame, and what is no DataFrame."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.topology.emit import Outputs
from penstock.topology.spouts import Spout

__all__ = ["FromFrame", "why_no_dataframe"]


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


def why_no_dataframe(given: Any) -> str | None:
    """What was given in place of a DataFrame of Spark's, and what to do, for people; None if it is one.

    >>> why_no_dataframe([("the end",)])
    'got a list: spark.createDataFrame(...) makes a DataFrame of rows'
    """
    classes = [f"{kind.__module__}.{kind.__qualname__}" for kind in type(given).__mro__]
    # That of Connect is a class of its own in some versions of Spark. Nothing of Spark is imported to look.
    if any(name.startswith("pyspark.sql.") and name.endswith(".DataFrame") for name in classes):
        return None
    if given is None:
        return "got None"
    for module, remedy in _REMEDIES.items():
        if any(name.startswith(module) for name in classes):
            return f"got one of type {classes[0]}: {remedy}"
    kind = classes[0].removeprefix("builtins.")
    return f"got a {kind}" + (_OF_ROWS if isinstance(given, list | tuple) else "")


_OF_ROWS = ": spark.createDataFrame(...) makes a DataFrame of rows"
_REMEDIES = {
    "pyspark.pandas.": "its to_spark() is a DataFrame of Spark's",
    "pyspark.core.rdd.": "its toDF(...) is a DataFrame of Spark's",
    "pyspark.rdd.": "its toDF(...) is a DataFrame of Spark's",
    "pandas.": "spark.createDataFrame(...) makes a DataFrame of Spark's of it",
}
