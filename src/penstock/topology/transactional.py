"""Sinks whose output appears exactly once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.topology.bolts import Bolt

__all__ = ["TransactionalSink"]


class TransactionalSink(Bolt):
    """A sink that writes in two steps: first so that it can no longer fail, then so that others see it.

    With ``delivery="exactly_once"`` the runtime calls `prepare` at the end of each epoch, saves the token together with
    the state of all other tasks, and calls `commit` when the epoch is committed. After a failure it begins with
    `recover`. With ``"at_least_once"`` it calls `prepare` and at once `commit` at every marker, about every second, and
    tuples count as processed only then: those of a sink that dies before come again. With ``"at_most_once"``
    it calls neither, and the sink commits by itself: at `finish`, at `close`, and whenever it likes.

    One that puts each epoch into a file of its own, under a hidden name at first:

    >>> import secrets, tempfile
    >>> from pathlib import Path
    >>> class EpochFiles(TransactionalSink):
    ...     def __init__(self, folder):
    ...         self.folder = Path(folder)
    ...     def open(self, context):
    ...         self.lines = []
    ...     def process(self, tup):
    ...         self.lines.append(tup.line)
    ...     def prepare(self):
    ...         if not self.lines:
    ...             return None
    ...         name = secrets.token_hex(8)
    ...         (self.folder / f".{name}").write_text(" ".join(self.lines))
    ...         self.lines = []
    ...         return name
    ...     def commit(self, token):
    ...         if not (self.folder / token).exists():  # for it may be called again
    ...             (self.folder / f".{token}").rename(self.folder / token)

    As the runtime calls it:

    >>> from penstock.topology.tuples import tuple_class
    >>> folder = Path(tempfile.mkdtemp())
    >>> sink = EpochFiles(folder)
    >>> sink.by_epochs = True
    >>> sink.open(None)
    >>> sink.process(tuple_class("lines", "default", ("line",))("blue"))
    >>> token = sink.prepare()
    >>> sink.commit(token), sink.commit(token)
    (None, None)
    >>> [path.read_text() for path in folder.iterdir()]
    ['blue']
    """

    by_epochs: bool = False
    """Whether the runtime calls `prepare` and `commit`. Given by the runtime, before `open`."""

    def prepare(self) -> Any:
        """Writes what came since the last call, so that `commit` can no longer fail, and nobody sees it yet.

        Returns:
            A token: plain values by which `commit` finds it, perhaps in another process on another node. None if there
            is nothing to commit.
        """
        message = f"{type(self).__name__} does not define prepare()"
        raise NotImplementedError(message)

    def commit(self, token: Any) -> None:
        """Lets everybody see what `prepare` gave the token for.

        May be called again for the same token, in any task of the sink, and then has to do nothing. What it raises
        ends the run, which goes on from its checkpoint when it is started again, with this commit first.
        """
        message = f"{type(self).__name__} does not define commit(token)"
        raise NotImplementedError(message)

    def is_ready(self) -> bool:
        """Whether it would rather commit now than at the next marker. Asked at each tick, with ``"at_least_once"``."""
        return False

    def recover(self, tokens: Sequence[Any]) -> None:
        """Goes on from a checkpoint: commits what was prepared there, and forgets all that came after it.

        Called after `open`, before anything else, also in a task that goes on in the same process. Override it to throw
        away what a task prepared later, or left half written when it was killed: it will come again. If the number of
        tasks has changed, task `i` of `n` is given the tokens of the former tasks whose index modulo `n` is `i`.
        """
        for token in tokens:
            self.commit(token)

    def finish(self) -> Any:
        """Commits by itself, if nobody else does."""
        self._commit_by_itself()

    def close(self) -> None:
        """Commits by itself, if nobody else does. Call it first, if you override it."""
        self._commit_by_itself()

    def _commit_by_itself(self) -> None:
        if not self.by_epochs and (token := self.prepare()) is not None:
            self.commit(token)
