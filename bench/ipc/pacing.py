"""The two timed loops: a sender that keeps a rate, and a receiver that notes how long each message took.

Every message begins with a stamp: the moment at which it was due, on the clock that all processes of a machine share
(CLOCK_MONOTONIC). `java/NettyEnd.java` has the same two loops.
"""

import struct
import time
from collections.abc import Callable
from typing import NamedTuple

Message = bytearray | bytes | memoryview

_STAMP = struct.Struct(">q")
_END = -1

# Ends a run. A message of its own and a small one, because a transport may hold on to a large message until its
# receiver comes back for more.
END_MESSAGE = bytearray(_STAMP.pack(_END))


class Sent(NamedTuple):
    """What a paced sender did."""

    started_ns: int
    messages: int


def pace(
    send: Callable[[Message], object],
    message: bytearray,
    *,
    rate_per_s: int,
    count: int,
    give_up_ns: int,
    clock: Callable[[], int] = time.monotonic_ns,
    sleep: Callable[[float], None] = time.sleep,
) -> Sent:
    """Send `message` so many times at a rate, then the end; stop early once `give_up_ns` behind.

    The sender sleeps to absolute deadlines. A message is stamped when the sender wakes up for it, so that oversleeping
    is not counted. A message whose deadline passed while an earlier one was being sent is stamped with that deadline:
    the time it waited for a blocked sender is part of its latency, otherwise transports that block would look better
    than those that queue.
    """
    started = woke = clock()
    sent = 0
    while sent < count:
        due = started + sent * 1_000_000_000 // rate_per_s
        now = clock()
        if now < due:
            sleep((due - now) / 1e9)
            woke = clock()
        elif now - due > give_up_ns:
            break
        _STAMP.pack_into(message, 0, max(due, woke))
        send(message)
        sent += 1
    send(END_MESSAGE)
    return Sent(started, sent)


def collect(receive: Callable[[], Message], clock: Callable[[], int] = time.monotonic_ns) -> list[int]:
    """Receive until the end, and return the latency of each message in nanoseconds."""
    latencies: list[int] = []
    while True:
        message = receive()
        now = clock()
        (stamp,) = _STAMP.unpack_from(message)
        del message  # a message lent from shared memory must go back before the next one is awaited
        if stamp == _END:
            return latencies
        latencies.append(now - stamp)
