"""The TCP connection under a ZeroMQ socket, to ask the kernel how far it is."""

from __future__ import annotations

import contextlib
import os
import socket

import zmq

from penstock.transport.link_window import TcpProgress, progress_of

__all__ = ["WatchedConnection"]


class WatchedConnection:
    """Of a socket that connects to one endpoint. ZeroMQ tells which descriptor it uses, and when it has let go of it.

    It has a descriptor of its own: by the time that we hear of it, ZeroMQ may have closed its, and another thread may
    have been given the same number. So it is also asked whom it leads to.
    """

    def __init__(self, watched: zmq.Socket[bytes], endpoint: str) -> None:
        self._watched = watched
        self._port = int(endpoint.rpartition(":")[2])
        self._monitor = watched.get_monitor_socket(zmq.EVENT_CONNECTED | zmq.EVENT_DISCONNECTED)
        self._connection: socket.socket | None = None

    def look(self) -> bool:
        """Takes note of what has become of the connection; whether there is another one than before."""
        is_new = False
        while self._monitor.poll(0):
            from zmq.utils.monitor import recv_monitor_message  # imports asyncio, for a struct of two numbers

            event = recv_monitor_message(self._monitor)
            self._let_go()
            if event["event"] == zmq.EVENT_CONNECTED:
                self._connection = self._own(event["value"])
                is_new = True
        return is_new

    def _own(self, descriptor: int) -> socket.socket | None:
        try:
            connection = socket.socket(fileno=os.dup(descriptor))
        except OSError:  # closed meanwhile
            return None
        with contextlib.suppress(OSError):
            if connection.getpeername()[1] == self._port:
                return connection
        connection.close()
        return None

    def progress(self) -> TcpProgress | None:
        """How far it is; None if there is no connection just now."""
        if self._connection is None:
            return None
        try:
            return progress_of(self._connection)
        except OSError:
            self._let_go()
            return None

    def _let_go(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def close(self) -> None:
        """Lets go of everything; before the socket that is watched is closed."""
        self._watched.disable_monitor()
        self._monitor.close(linger=0)
        self._let_go()
