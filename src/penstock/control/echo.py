"""A worker's echo: what the driver calls into it comes back, as long as the process runs and can be reached.

This is how a process that is stopped or cut off is told from one that is in a long call of user code. The latter must
answer, even if the call holds Python's lock, so no Python runs here: the loop is ZeroMQ's own, in C. A proxy between a
socket and itself sends back whatever comes.
"""

from __future__ import annotations

import contextlib
import threading
from types import TracebackType
from typing import Self

import zmq

from penstock.control.membership import ECHO
from penstock.control.ticket import Ticket
from penstock.control.wire import connected_dealer

__all__ = ["Echo"]


class Echo:
    """A connection beside that of the `ControlClient` of this name, with a thread of its own."""

    def __init__(self, ticket: Ticket, name: bytes) -> None:
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._socket = connected_dealer(
            self._context,
            endpoint=ticket.endpoint,
            server_public=ticket.server_public,
            keys=ticket.keys,
            name=name + ECHO,
        )
        self._thread = threading.Thread(target=self._send_back, name="penstock-echo", daemon=True)
        self._thread.start()

    def _send_back(self) -> None:
        with self._socket, contextlib.suppress(zmq.ContextTerminated):
            zmq.proxy(self._socket, self._socket)

    def close(self) -> None:
        """Ends the thread."""
        self._context.term()  # which wakes the proxy up, and waits until its socket is closed
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
