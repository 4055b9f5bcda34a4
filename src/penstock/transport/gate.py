"""Who may connect: ZeroMQ asks at this gate (RFC 27, ZAP) about everybody who wants in.

CURVE alone proves only that the other side knows our public key. That it holds the run's own key is decided here. The
gate has no thread: whoever owns it answers between other things, and until it answers nobody new gets in. The thread of
a link in C++ answers by native/penstock/gate.hpp.
"""

from __future__ import annotations

import hmac

import zmq
from zmq.utils import z85

__all__ = ["Gate"]

_DOMAIN = b"penstock"
# Who has not proven who it is by then is cut off: connections that only take up room do not pile up.
_HANDSHAKE_WITHIN_MS = 10_000


class Gate:
    """Lets in holders of one public key. It serves all sockets of its context, and needs a context of its own."""

    def __init__(self, context: zmq.Context[zmq.Socket[bytes]], admitted: bytes) -> None:
        self.domain = _DOMAIN
        self.admitted = z85.decode(admitted)
        self.socket = context.socket(zmq.REP)
        self.socket.linger = 0
        self.socket.bind("inproc://zeromq.zap.01")

    def guard(self, socket: zmq.Socket[bytes]) -> None:
        """Has ZeroMQ ask here about everybody who connects to this socket. To be called before it is bound."""
        socket.zap_domain = _DOMAIN
        # Without this, a socket whose gate does not answer would let everybody in.
        socket.setsockopt(zmq.ZAP_ENFORCE_DOMAIN, 1)
        socket.handshake_ivl = _HANDSHAKE_WITHIN_MS

    def answer(self) -> bool:
        """Answers one question, if there is one; returns whether there was."""
        try:
            version, request, domain, _, _, mechanism, *credentials = self.socket.recv_multipart(zmq.NOBLOCK)
        except zmq.Again:
            return False
        welcome = (
            domain == _DOMAIN
            and mechanism == b"CURVE"
            and len(credentials) == 1
            and hmac.compare_digest(credentials[0], self.admitted)
        )
        code, text = (b"200", b"OK") if welcome else (b"400", b"not a key of this run")
        self.socket.send_multipart([version, request, code, text, b"", b""])
        return True

    def close(self) -> None:
        """Closes the gate: nobody new gets in."""
        self.socket.close()
