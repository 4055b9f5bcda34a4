"""Two choices: which task gets a tuple where a key has two of them.

From "The power of both choices" (Nasir et al., 2015): two hash functions give each key two tasks, and each source sends
a tuple to that of the two which it has itself sent less to. No source needs to know of another: where each of them is
balanced, so is the sum. A frequent key is shared by two tasks, and what is left of the imbalance is evened out by the
keys that have one of them as one of their two.

What was sent long ago says nothing of what waits now. So when a count has reached `WINDOW_TUPLES`, all are halved: they
are bounded, and a task that had a frequent key which comes no more is soon chosen as often as the others.
"""

from __future__ import annotations

from typing import Any

from penstock.transport.canonical_key import canonical_key
from penstock.transport.stable_hash import stable_hash

__all__ = ["TwoChoices", "pair_of"]

WINDOW_TUPLES = 4096

MOST_REMEMBERED_KEYS = 1 << 16
"""Keys whose tasks are remembered; beyond that the memory starts anew, so that endless keys do not fill it."""


def pair_of(key: object, count: int) -> tuple[int, int]:
    """The two tasks of a key, of so many: always two different ones, unless there is only one.

    The same ones in every process; and the first is the one that the key has where it is sent `by` it.
    """
    first = stable_hash(key) % count
    if count == 1:
        return first, first
    return first, (first + 1 + stable_hash(("second choice", key)) % (count - 1)) % count


class TwoChoices:
    """One source's choices among `count` tasks.

    >>> choices = TwoChoices(8)
    >>> {choices.choose("the") for _ in range(100)} == {*pair_of("the", 8)}
    True
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._pairs: dict[Any, tuple[int, int]] = {}
        self.sent = [0] * count
        """What each task was sent lately."""

    def choose(self, key: Any) -> int:
        """The task that gets a tuple with this key. It counts as sent."""
        try:
            first, second = self._pairs.get(key) or self._remember(key)
        except TypeError:  # a list, or what can be no key
            first, second = self._remember(key)
        sent = self.sent
        index = first if sent[first] <= sent[second] else second
        sent[index] += 1
        if sent[index] >= WINDOW_TUPLES:
            self.sent = [count >> 1 for count in sent]
        return index

    def _remember(self, key: Any) -> tuple[int, int]:
        key = canonical_key(key)
        pair = pair_of(key, self._count)
        if len(self._pairs) >= MOST_REMEMBERED_KEYS:
            self._pairs.clear()
        self._pairs[key] = pair
        return pair
