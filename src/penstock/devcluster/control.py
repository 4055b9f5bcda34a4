"""How other processes reach a running cluster: a socket in its folder, which only its user can enter.

One packet asks, one answers. Everything is done by the owner, one thing after another, so that there is one that knows.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from penstock.devcluster.nodes import NodeStatus
from penstock.errors import DevClusterError, PenstockError

__all__ = ["ControlServer", "Order", "Slow", "Stop", "Survey", "ask"]

_SOCKET = "control"
_MOST_BYTES = 1 << 20
_ASKING_WITHIN_S = 5.0


class Order(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Something is to be done with a node that needs no more words."""

    what: Literal["cut_off", "rejoin", "kill", "kill_executors", "restart"]
    node: int


class Slow(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A node's traffic is to be shaped."""

    node: int
    rate_bits_per_s: int | None
    delay_s: float | None


class Survey(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """How the nodes are is to be told."""


class Stop(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The owner is to end the cluster."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What became of it: how the nodes are now, or why it was not done."""

    nodes: tuple[NodeStatus, ...] = ()
    master_url: str = ""
    error: str | None = None


Request = Order | Slow | Survey | Stop


class Controlled(Protocol):
    """What a cluster can be asked for."""

    @property
    def master_url(self) -> str: ...
    @property
    def nodes(self) -> tuple[NodeStatus, ...]: ...
    def cut_off(self, node: int) -> None: ...
    def rejoin(self, node: int) -> None: ...
    def kill(self, node: int) -> None: ...
    def kill_executors(self, node: int) -> None: ...
    def restart(self, node: int) -> None: ...
    def slow(self, node: int, *, rate_bits_per_s: int | None = None, delay_s: float | None = None) -> None: ...
    def ask_to_stop(self) -> None: ...


def ask(folder: Path, request: Request, *, timeout_s: float = 300.0) -> Answer:
    """Asks the owner of the cluster in `folder`. DevClusterError says why it was not done."""
    try:
        with _address(folder) as address, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
            connection.settimeout(timeout_s)
            connection.connect(address)
            connection.send(msgspec.json.encode(request))
            data = connection.recv(_MOST_BYTES)
    except TimeoutError:
        message = f"the owner of cluster {folder.name} did not answer within {timeout_s:g} s"
        raise DevClusterError(message) from None
    except OSError as error:
        message = f"cluster {folder.name} cannot be reached ({error}): it is starting, or ending, or gone"
        raise DevClusterError(message) from error
    if not data:
        message = f"the owner of cluster {folder.name} ended without an answer"
        raise DevClusterError(message)
    answer = msgspec.json.decode(data, type=Answer)
    if answer.error is not None:
        raise DevClusterError(answer.error)
    return answer


class ControlServer:
    """Answers for a cluster, in a thread of its own, until closed."""

    def __init__(self, cluster: Controlled, folder: Path) -> None:
        self._cluster = cluster
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with _address(folder) as address:
            self._listener.bind(address)
        self._listener.listen()
        self._thread = threading.Thread(target=self._serve, name="penstock-dev-cluster", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ends it. What is being done is finished first."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread, which to close alone would not
        self._thread.join()
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:  # it was shut down
                return
            with connection, contextlib.suppress(OSError):  # who asked may be gone
                connection.settimeout(_ASKING_WITHIN_S)
                connection.send(msgspec.json.encode(self._answer(connection.recv(_MOST_BYTES))))

    def _answer(self, data: bytes) -> Answer:
        try:
            self._do(msgspec.json.decode(data, type=Request))
        except (PenstockError, ValueError) as error:
            return Answer(error=str(error))
        return Answer(nodes=self._cluster.nodes, master_url=self._cluster.master_url)

    def _do(self, request: Request) -> None:
        match request:
            case Order(what=what, node=node):
                getattr(self._cluster, what)(node)
            case Slow(node=node, rate_bits_per_s=rate_bits_per_s, delay_s=delay_s):
                self._cluster.slow(node, rate_bits_per_s=rate_bits_per_s, delay_s=delay_s)
            case Stop():
                self._cluster.ask_to_stop()
            case Survey():
                pass


@contextlib.contextmanager
def _address(folder: Path) -> Iterator[str]:
    """The socket's address, however deep the folder is: a socket's path may have a hundred letters only."""
    descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{descriptor}/{_SOCKET}"
    finally:
        os.close(descriptor)
