"""Transports with both ends in Python: what each has to define, and how its two ends are served."""

import importlib
import time
from abc import abstractmethod
from collections.abc import Callable
from contextlib import closing
from multiprocessing.context import SpawnContext
from typing import ClassVar, Generic, NamedTuple, TypeVar

from bench.ipc.control import Answer
from bench.ipc.pacing import END_MESSAGE, Message, collect, pace
from bench.ipc.pair import Pair
from bench.ipc.python_end import SPAWN, Line, PythonEnd
from bench.ipc.transport import Transport

Link = TypeVar("Link")


class Sender(NamedTuple):
    """The sending side, inside its own process."""

    send: Callable[[Message], object]
    """Send one message. The caller may overwrite the buffer as soon as this returns."""
    close: Callable[[], object]
    flood: Callable[[Message, int], object] | None = None
    """Send one message so many times, where there is a faster way than `send` again and again."""


class Receiver(NamedTuple):
    """The receiving side, inside its own process."""

    receive: Callable[[], Message]
    """Wait for the next message."""
    close: Callable[[], object]
    drain: Callable[[int], object] | None = None
    """Receive so many messages, where there is a faster way than `receive` again and again."""


class PythonTransport(Transport, Generic[Link]):
    """A transport with both ends in Python. The object itself travels to the two processes, so it must pickle."""

    module: ClassVar[str]
    """The module it needs."""

    def absence(self) -> str | None:
        """Why the module cannot be imported, or None if it can."""
        try:
            importlib.import_module(self.module)
        except ImportError as error:
            return f"cannot import {self.module}: {error}"
        return None

    def open(self) -> Pair:
        """Spawn two interpreters that inherit the link."""
        link = self.link(SPAWN)
        return Pair.start(
            lambda: PythonEnd(f"{self.name} receiver", _serve_receiver, self, link),
            lambda _receiver: PythonEnd(f"{self.name} sender", _serve_sender, self, link),
            self.clean_up,
        )

    @abstractmethod
    def link(self, context: SpawnContext) -> Link:
        """Made by the parent and inherited by both ends: whatever they need to find each other."""

    @abstractmethod
    def receiver(self, link: Link) -> Receiver:
        """Open the receiving side, in the receiver process."""

    @abstractmethod
    def sender(self, link: Link) -> Sender:
        """Open the sending side, in the sender process."""

    def clean_up(self) -> None:
        """Remove what ends that were killed left behind; most transports leave nothing."""


def _serve_receiver(line: Line, transport: PythonTransport[Link], link: Link) -> None:
    with closing(transport.receiver(link)) as side:
        line.answer(Answer(clock_ns=time.monotonic_ns()))
        while question := line.question():
            line.answer(Answer(clock_ns=time.monotonic_ns()))  # listening
            latencies: list[int] = []
            match question:
                case ["collect"]:
                    latencies = collect(side.receive)
                case ["drain", count]:
                    _drain(side, int(count) + 1)  # and the end
            line.answer(Answer(finished_ns=time.monotonic_ns(), latencies_ns=tuple(latencies)))


def _serve_sender(line: Line, transport: PythonTransport[Link], link: Link) -> None:
    with closing(transport.sender(link)) as side:
        line.answer(Answer(clock_ns=time.monotonic_ns()))
        while question := line.question():
            match question:
                case ["pace", size, rate, count, give_up_ns]:
                    started_ns, sent = pace(
                        side.send,
                        bytearray(int(size)),
                        rate_per_s=int(rate),
                        count=int(count),
                        give_up_ns=int(give_up_ns),
                    )
                    line.answer(Answer(started_ns=started_ns, sent=sent))
                case ["flood", size, count]:
                    message = bytearray(int(size))
                    started_ns = time.monotonic_ns()
                    _flood(side, message, int(count))
                    side.send(END_MESSAGE)
                    line.answer(Answer(started_ns=started_ns, sent=int(count)))


def _drain(side: Receiver, count: int) -> None:
    if side.drain is not None:
        side.drain(count)
        return
    receive = side.receive
    for _ in range(count):
        receive()


def _flood(side: Sender, message: Message, count: int) -> None:
    if side.flood is not None:
        side.flood(message, count)
        return
    send = side.send
    for _ in range(count):
        send(message)
