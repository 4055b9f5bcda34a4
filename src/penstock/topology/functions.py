"""Plain functions as bolts, generator functions as spouts."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from penstock.topology.bolts import Bolt
from penstock.topology.context import TaskContext
from penstock.topology.emit import Outputs
from penstock.topology.function_name import name_of
from penstock.topology.spouts import Spout
from penstock.topology.tuples import Tuple

__all__ = ["FunctionBolt", "GeneratorSpout", "takes_context"]


class FunctionBolt(Bolt):
    """A function of a tuple, plain or generator, as a bolt.

    >>> FunctionBolt(len).process((1, 2, 3))
    3
    """

    def __init__(self, function: Callable[[Tuple], Outputs]) -> None:
        self.function = function
        # Over the method, so that a call per tuple is one call and not two.
        self.__dict__["process"] = function

    def __repr__(self) -> str:
        return f"{name_of(self.function)}()"


class GeneratorSpout(Spout):
    """A generator function as a spout: what it yields is emitted, and its end is the end. If it raises, the run fails.

    The function may take the task's context. Each task calls it for itself:

    >>> def numbers(context):
    ...     yield from ((n,) for n in range(context.index, 5, context.count))
    >>> spout = GeneratorSpout(numbers)
    >>> spout.open(TaskContext(topology="t", component="numbers", index=1, count=2))
    >>> spout.next(), spout.next()
    ((1,), (3,))
    """

    def __init__(self, function: Callable[..., Iterator[Any]]) -> None:
        self.function = function
        self._generator: Iterator[Any] = iter(())

    def open(self, context: TaskContext) -> None:
        """Calls the function."""
        self._generator = self.function(context) if takes_context(self.function) else self.function()

    def next(self) -> Outputs:
        """What it yields next."""
        outputs: Outputs = next(self._generator)
        return outputs

    def close(self) -> None:
        """Runs what the function does on its way out."""
        close = getattr(self._generator, "close", None)
        if close is not None:
            close()

    def __repr__(self) -> str:
        return f"{name_of(self.function)}()"


def takes_context(function: Callable[..., Any]) -> bool:
    """Whether a generator function wants to be given the context: it has a parameter without a default."""
    parameters = inspect.signature(function).parameters.values()
    return any(p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)
