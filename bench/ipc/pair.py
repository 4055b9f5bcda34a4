"""A sender process and a receiver process of one transport, and what can be measured with them."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Self

import msgspec

from bench.ipc.control import Answer, End, EndError

_PATIENCE_S = 60.0

# A sender this far behind its deadlines will not catch up; going on would only fill memory.
_GIVE_UP_NS = 500_000_000
# Below this part of the rate asked for, messages pile up faster than they go.
_SUSTAINED = 0.95

# Enough for a just-in-time compiler to have seen both small and large messages, slept for and not slept for.
_WARM_UP = ("flood 100 20000", "flood 10240 5000", f"pace 10240 10000 3000 {_GIVE_UP_NS}", "flood 327680 200")

_FIRST_FLOOD = 256


class Paced(msgspec.Struct, frozen=True, kw_only=True):
    """Messages of one size at one rate; the first of them only warm up."""

    size_bytes: int
    rate_per_s: int
    count: int
    warm_up: int


class Latencies(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a paced run."""

    latencies_ns: tuple[int, ...]
    saturated: bool
    """The messages did not arrive at the rate at which they were due."""


class Pair:
    """The two processes, until closed."""

    def __init__(self, receiver: End, sender: End, resources: ExitStack) -> None:
        """Use ends that are ready; `resources` holds all there is to close."""
        self._receiver = receiver
        self._sender = sender
        self._resources = resources

    @classmethod
    def start(
        cls,
        receiver: Callable[[], End],
        sender: Callable[[Answer], End],
        clean_up: Callable[[], object] | None = None,
    ) -> Self:
        """Start the receiver, then the sender, which is given what the receiver said when it was ready.

        `clean_up` is called when both are gone, whether they left or were killed.
        """
        with ExitStack() as stack:
            if clean_up is not None:
                stack.callback(clean_up)
            started_ns = time.monotonic_ns()
            receiving = receiver()
            stack.callback(receiving.close)
            ready = _ready(receiving, started_ns)
            sending = sender(ready)
            stack.callback(sending.close)
            _ready(sending, started_ns)
            return cls(receiving, sending, stack.pop_all())

    def warm_up(self) -> None:
        """Let compilers compile and memory be touched."""
        for line in _WARM_UP:
            command, _, count, *_ = line.split()
            self._together("collect" if command == "pace" else f"drain {count}", line)

    def latencies(self, paced: Paced) -> Latencies:
        """One paced run."""
        total = paced.warm_up + paced.count
        sent, got = self._together("collect", f"pace {paced.size_bytes} {paced.rate_per_s} {total} {_GIVE_UP_NS}")
        if len(got.latencies_ns) != sent.sent:
            msg = f"{sent.sent} messages of {paced.size_bytes} bytes were sent, {len(got.latencies_ns)} received"
            raise EndError(msg)
        arrived_per_s = sent.sent / (got.finished_ns - sent.started_ns) * 1e9
        return Latencies(
            latencies_ns=got.latencies_ns[min(paced.warm_up, sent.sent // 2) :],
            saturated=sent.sent < total or arrived_per_s < _SUSTAINED * paced.rate_per_s,
        )

    def throughput_per_s(self, size_bytes: int, at_least_s: float) -> float:
        """Messages per second, unthrottled, over so many messages that it takes `at_least_s`."""
        count = _FIRST_FLOOD
        while True:
            elapsed_s = self.flood_s(size_bytes, count)
            if elapsed_s >= at_least_s:
                return count / elapsed_s
            count *= 4

    def flood_s(self, size_bytes: int, count: int) -> float:
        """How long so many messages take, unthrottled."""
        sent, got = self._together(f"drain {count}", f"flood {size_bytes} {count}")
        return (got.finished_ns - sent.started_ns) / 1e9

    def close(self) -> None:
        """End both processes."""
        self._resources.close()

    def _together(self, receive: str, send: str) -> tuple[Answer, Answer]:
        self._receiver.ask(receive)
        self._receiver.answer(_PATIENCE_S)  # it is listening
        self._sender.ask(send)
        return self._sender.answer(_PATIENCE_S), self._receiver.answer(_PATIENCE_S)


def _ready(end: End, started_ns: int) -> Answer:
    """Wait until an end is ready, and make sure that its clock can be compared with the other end's."""
    ready = end.answer(_PATIENCE_S)
    if not started_ns < ready.clock_ns < time.monotonic_ns():
        msg = f"the clocks of two processes differ: {ready.clock_ns} ns is not between {started_ns} ns and now"
        raise EndError(msg)
    return ready
