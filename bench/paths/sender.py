"""The source: lines over a TCP connection of the loopback interface, each with when it was sent.

In a process of its own, so that nothing else delays what it stamps.
"""

import contextlib
import multiprocessing
import socket
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait


@contextlib.contextmanager
def sender(every_s: float) -> Iterator[int]:
    """Sends to whoever connects, one at a time, from number 0 on until they leave. Gives the port."""
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    process = spawn.Process(target=_serve, args=(theirs, every_s), daemon=True)
    process.start()
    theirs.close()
    try:
        yield ours.recv()
    finally:
        process.terminate()
        process.join()
        process.close()
        ours.close()


def _serve(parent: Connection, every_s: float) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        parent.send(server.getsockname()[1])
        while parent not in wait([server, parent]):  # it says nothing more: there is something to read when it is gone
            connection, _ = server.accept()
            with connection, contextlib.suppress(ConnectionError):
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                _send(connection, every_s)


def _send(connection: socket.socket, every_s: float) -> None:
    due_s, number = time.monotonic(), 0
    while True:
        connection.sendall(f"sent_ns={time.time_ns()} n={number}\n".encode())
        number += 1
        due_s += every_s
        time.sleep(max(0.0, due_s - time.monotonic()))
