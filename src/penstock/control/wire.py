"""The sockets that control runs over, with keys and bounds set: in one place, because nobody sees if they are not.

A message is two parts: its number (see numbering) and its bytes (see protocol). The router puts the sender's name
before them.
"""

from __future__ import annotations

import secrets
import socket as sockets

import zmq

from penstock.control.keys import RunKeys
from penstock.transport.gate import Gate
from penstock.transport.links import LinkKeys

__all__ = ["address_towards", "bound_router", "connected_dealer", "endpoint_of", "new_name"]

# Messages that wait in ZeroMQ for one peer. Beyond it, a sender keeps them or, if it is the router, drops them.
_HIGH_WATER = 1000
# A topology blob or a chunk of collected rows; whoever sends more is cut off.
_MOST_BYTES = 256 << 20
_RECONNECT_MS = 100
_RECONNECT_AT_MOST_MS = 2000


def bound_router(
    context: zmq.Context[zmq.Socket[bytes]], *, gate: Gate, keys: RunKeys, bind_host: str
) -> tuple[zmq.Socket[bytes], int]:
    """The driver's socket, bound to a free port of one interface. Returns it and the port."""
    socket = context.socket(zmq.ROUTER)
    socket.curve_server = True
    socket.curve_publickey, socket.curve_secretkey = keys.server.public, keys.server.secret
    gate.guard(socket)
    socket.router_mandatory = 1  # a peer that is gone or does not keep up is an error, not silence
    socket.router_handover = 1  # a peer that reconnects is the same peer, even if we have not noticed that it was away
    _bound(socket)
    socket.ipv6 = ":" in bind_host
    try:
        socket.bind(f"tcp://{_bracketed(bind_host)}:0")
    except zmq.ZMQError:
        socket.close()
        raise
    bound_to = bytes(socket.get(zmq.LAST_ENDPOINT)).rstrip(b"\0")
    return socket, int(bound_to.rpartition(b":")[2])


def connected_dealer(
    context: zmq.Context[zmq.Socket[bytes]],
    *,
    endpoint: str,
    server_public: bytes,
    keys: LinkKeys,
    name: bytes | None = None,
) -> zmq.Socket[bytes]:
    """A worker's or the command line's socket. It connects, and reconnects, by itself, under one name."""
    socket = context.socket(zmq.DEALER)
    socket.curve_serverkey = server_public
    socket.curve_publickey, socket.curve_secretkey = keys.public, keys.secret
    socket.routing_id = name or new_name()
    socket.reconnect_ivl, socket.reconnect_ivl_max = _RECONNECT_MS, _RECONNECT_AT_MOST_MS
    _bound(socket)
    socket.ipv6 = "[" in endpoint
    socket.connect(endpoint)
    return socket


def new_name() -> bytes:
    """A name for a connection that no other has."""
    return secrets.token_bytes(16).replace(b"\0", b"\1")  # one that begins with 0 is ZeroMQ's own


def endpoint_of(host: str, port: int) -> str:
    """Where a port of a host is connected to."""
    return f"tcp://{_bracketed(host)}:{port}"


def address_towards(host: str, port: int = 9) -> str:
    """The address that this machine has on the way to another: the one to bind to and to publish. Sends nothing."""
    family, kind, protocol, _, address = sockets.getaddrinfo(host, port, type=sockets.SOCK_DGRAM)[0]
    with sockets.socket(family, kind, protocol) as probe:
        probe.connect(address)
        return str(probe.getsockname()[0])


def _bound(socket: zmq.Socket[bytes]) -> None:
    socket.sndhwm = socket.rcvhwm = _HIGH_WATER
    socket.maxmsgsize = _MOST_BYTES
    socket.linger = 0


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
