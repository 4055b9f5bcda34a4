"""What a transactional sink has prepared and not committed yet.

A token stays here until its commit has succeeded, and every epoch saves all that are here. So none is lost when an
epoch that could not be saved is followed by one that is, or when a worker dies after an epoch was committed and before
its sinks have heard of it:

>>> tokens = PreparedTokens()
>>> tokens.add(epoch=1, token="a")
>>> tokens.add(epoch=2, token="b")   # epoch 1 was not committed, because the disk was full
>>> decode_tokens(tokens.encoded())
['a', 'b']
>>> tokens.commit_up_to(2, print)
a
b
>>> tokens.encoded() is None
True
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from penstock.transport.values import decode_value, encode_value

__all__ = ["PreparedTokens", "decode_tokens"]


class PreparedTokens:
    """The tokens of one task, in the order in which they were prepared."""

    def __init__(self) -> None:
        self._tokens: deque[tuple[int, Any]] = deque()

    def add(self, *, epoch: int, token: Any) -> None:
        """What `prepare` gave at the end of an epoch; None is nothing to commit."""
        if token is not None:
            self._tokens.append((epoch, token))

    def commit_up_to(self, epoch: int, commit: Callable[[Any], None]) -> None:
        """Commits what was prepared in this epoch, which is committed now, and before. What raises stays here."""
        while self._tokens and self._tokens[0][0] <= epoch:
            commit(self._tokens[0][1])
            self._tokens.popleft()

    def encoded(self) -> bytes | None:
        """For `SavedTask.prepared`.

        Raises:
            TypeError: a token is made of values that cannot be kept.
        """
        return encode_value([token for _, token in self._tokens]) if self._tokens else None


def decode_tokens(prepared: bytes | None) -> list[Any]:
    """The tokens in `SavedTask.prepared`."""
    tokens: list[Any] = [] if prepared is None else decode_value(prepared)
    return tokens
