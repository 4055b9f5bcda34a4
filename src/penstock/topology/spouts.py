"""Sources."""

from __future__ import annotations

from typing import Any

from penstock.topology.emit import Outputs
from penstock.topology.logic import Logic

__all__ = ["Spout"]


class Spout(Logic):
    """A source of tuples.

    A bounded one ends by raising StopIteration:

    >>> class CountDown(Spout):
    ...     fields = ("n",)
    ...     def __init__(self, start):
    ...         self.left = start
    ...     def next(self):
    ...         if self.left == 0:
    ...             raise StopIteration
    ...         self.left -= 1
    ...         return (self.left + 1,)
    >>> spout = CountDown(2)
    >>> spout.next(), spout.next()
    ((2,), (1,))

    **Acknowledged**: one that emits ``Emit(values, id=...)`` is told about each id by `ack` or `fail`.

    **Replayed**: one that has both `position` and `seek` can be set back to where a checkpoint was.
    """

    def next(self) -> Outputs:
        """One tuple, or several, or None if there is nothing just now. Never blocks for long.

        Any other exception than these is counted, and the spout is asked again after a pause, until it has failed
        `max_spout_failures` times in a row: then the run fails.

        Raises:
            StopIteration: there is nothing more, and never will be.
            RunError: the run is to fail at once.
        """
        message = f"{type(self).__name__} does not define next()"
        raise NotImplementedError(message)

    def ack(self, id: Any) -> None:
        """The tuple with this id, and everything that came of it, has been processed."""

    def fail(self, id: Any) -> None:
        """The tuple with this id, or something that came of it, failed or took too long: emit it again, or not."""

    def position(self) -> Any:
        """Where it is: plain values from which `seek` finds the place again. Called between calls of `next`."""
        message = f"{type(self).__name__} has no positions: define position() and seek() to have it replayed"
        raise NotImplementedError(message)

    def seek(self, position: Any) -> None:
        """Go on from what `position` gave, perhaps in another process. Called after `open`."""
        message = f"{type(self).__name__} has no positions: define position() and seek() to have it replayed"
        raise NotImplementedError(message)

    @classmethod
    def is_replayable(cls) -> bool:
        """Whether it defines `position` and `seek`."""
        return cls.position is not Spout.position and cls.seek is not Spout.seek
