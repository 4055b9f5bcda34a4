"""How the benchmark talks to the two processes of a transport: a line asks, a JSON object answers.

    to a receiver   collect                              receive until the end of a paced run, report latencies
                    drain COUNT                          receive so many messages and the end
    to a sender     pace SIZE RATE COUNT GIVE_UP_NS      a paced run
                    flood SIZE COUNT                     so many messages as fast as they go, and the end

An end answers once when it is ready to be asked, and once to each line; a receiver answers first that it is listening.
It leaves when the line is cut.
"""

from typing import Protocol

import msgspec


class EndError(Exception):
    """One of the two processes of a transport failed, died or hangs."""


class Answer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an end answers; only the fields that the question calls for are set."""

    clock_ns: int = 0
    """The end's own clock, when it is ready or listening."""
    port: int = 0
    """Where a receiver listens, if on a port."""
    started_ns: int = 0
    sent: int = 0
    finished_ns: int = 0
    latencies_ns: tuple[int, ...] = ()
    error: str = ""


class End(Protocol):
    """One of the two processes of a transport, seen from the benchmark."""

    def ask(self, line: str) -> None:
        """Send one line."""

    def answer(self, timeout_s: float) -> Answer:
        """Wait for an answer; raise `EndError` if it is an error or does not come."""

    def close(self) -> None:
        """Cut the line and see the process off; kill it if it does not leave."""
