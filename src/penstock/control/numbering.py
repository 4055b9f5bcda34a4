"""Messages on a connection are numbered, so that a loss is noticed.

ZeroMQ reconnects by itself, and what was under way when a connection broke is gone without a word. A controller and a
worker that disagree on what was said must not go on: a gap ends the worker, and another takes its seat.

Small talk (heartbeats, and reports, which the next one makes up for) may get lost. It carries the number of the next
message that counts, and so shows that none is missing before it, soon after it was lost.
"""

from __future__ import annotations

import struct

from penstock.control.protocol import Message

__all__ = ["Numbering"]

_NUMBER = struct.Struct(">Q")


class Numbering:
    """One end of a connection: numbers what goes out, and checks the numbers of what comes in."""

    def __init__(self) -> None:
        self._next_out = 0
        self._next_in = 0

    def stamp(self, message: Message) -> bytes:
        """The number that a message goes out with. One that counts, and is stamped and not sent, will be missed."""
        stamp = _NUMBER.pack(self._next_out)
        self._next_out += message.counts
        return stamp

    def objection(self, stamp: bytes, message: Message) -> str | None:
        """What is wrong with the number of a message that came in; None if it is as expected."""
        if len(stamp) != _NUMBER.size:
            return f"a message number has {_NUMBER.size} bytes, got {len(stamp)}"
        number: int = _NUMBER.unpack(stamp)[0]
        wanted, self._next_in = self._next_in, number + message.counts
        if number == wanted:
            return None
        return f"messages were lost on the way: number wanted={wanted} got={number}"
