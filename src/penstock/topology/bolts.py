"""Operators: without state, with a state of their own, with state by key, and on whole batches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from penstock.topology.emit import Emit, Outputs
from penstock.topology.logic import Logic
from penstock.topology.tuples import Tuple

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["BaseBolt", "BatchBolt", "Bolt", "KeyedBolt", "StatefulBolt"]


class BaseBolt(Logic):
    """What all bolts have. Derive from `Bolt`, `StatefulBolt`, `KeyedBolt` or `BatchBolt`, not from this."""

    tick_every_s: float | None = None
    """How often `tick` is called; None is never."""

    side_effects: bool = False
    """Whether `process` does something outside that should be done by its own tasks only, such as writing to a file of
    theirs. Then nobody else does its work when it is too slow, unless the topology says ``helping=True``."""

    def tick(self) -> Any:
        """Called every `tick_every_s` seconds. Emits as the bolt's ``process`` does."""

    def finish(self) -> Any:
        """Called once in each task, when all its inputs have ended. Emits as the bolt's ``process`` does."""


class Bolt(BaseBolt):
    """An operator without state: each tuple by itself.

    >>> class Split(Bolt):
    ...     fields = ("word",)
    ...     def process(self, tup):
    ...         for word in tup.line.split():
    ...             yield (word,)
    """

    def process(self, tup: Tuple) -> Outputs:
        """What comes of one tuple: nothing, one tuple, or several.

        Return or yield plain tuples, one value per field. What is emitted counts as derived from ``tup``, which is done
        when this returns. An exception fails the tuple, is reported, and does not stop the task.
        """
        message = f"{type(self).__name__} does not define process(tup)"
        raise NotImplementedError(message)


class StatefulBolt(Bolt):
    """An operator with a state of its own, one per task, that the runtime saves, moves and brings back.

    >>> class Total(StatefulBolt):
    ...     fields = ("total",)
    ...     def open(self, context):
    ...         self.total = 0
    ...     def process(self, tup):
    ...         self.total += tup.amount
    ...     def finish(self):
    ...         return (self.total,)
    ...     def snapshot(self):
    ...         return self.total
    ...     def restore(self, state):
    ...         self.total = state
    """

    def snapshot(self) -> Any:
        """The state: plain values, not shared with what `process` goes on changing."""
        message = f"{type(self).__name__} does not define snapshot()"
        raise NotImplementedError(message)

    def restore(self, state: Any) -> None:
        """Take up what `snapshot` gave, perhaps in another process. Called after `open`."""
        message = f"{type(self).__name__} does not define restore(state)"
        raise NotImplementedError(message)


class KeyedBolt(BaseBolt):
    """An operator with state by key. The runtime owns, moves and restores the state, key by key.

    Its inputs come by ``by(...)``: all tuples of a key reach the same task, so each task sees its own keys only.

    >>> class Count(KeyedBolt):
    ...     fields = ("word", "count")
    ...     def process(self, key, tup):
    ...         n = self.state[key] = self.state.get(key, 0) + 1
    ...         yield key, n
    """

    state: dict[Any, Any]
    """The state of this task's keys. Given by the runtime, before `open`."""

    def process(self, key: Any, tup: Tuple) -> Outputs:
        """What comes of one tuple; as `Bolt.process`.

        Args:
            key: the value of the field that the input is grouped by, or a tuple of them if there are several. As
                Spark groups: every NaN is one key, -0.0 is 0.0, a list is a tuple, and a dict one that can be hashed.
            tup: the tuple.
        """
        message = f"{type(self).__name__} does not define process(key, tup)"
        raise NotImplementedError(message)


class BatchBolt(BaseBolt):
    """An operator on Arrow record batches, for work that vectorises. It is given whatever has piled up.

    >>> import pyarrow.compute as pc
    >>> class Upper(BatchBolt):
    ...     fields = ("word",)
    ...     def process_batch(self, batch):
    ...         yield batch.set_column(0, "word", pc.utf8_upper(batch["word"]))
    """

    def process_batch(self, batch: pa.RecordBatch) -> pa.RecordBatch | Emit | Iterable[pa.RecordBatch | Emit] | None:
        """What comes of a batch: record batches whose columns are the bolt's fields, or none.

        For a named stream: ``Emit(batch, stream=name)``.
        """
        message = f"{type(self).__name__} does not define process_batch(batch)"
        raise NotImplementedError(message)
