"""People at the ports: what a stranger may send, and a proxy that writes down what an honest peer says."""

from __future__ import annotations

import contextlib
import random
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from tests.ring.patience import PATIENCE_S


def greeting(mechanism: bytes) -> bytes:
    """How a ZMTP 3.1 connection opens: signature, version, mechanism, role, filler."""
    return b"\xff" + bytes(8) + b"\x7f" + b"\x03\x01" + mechanism.ljust(20, b"\0") + bytes(32)


def command(name: bytes, body: bytes) -> bytes:
    """A short ZMTP command frame."""
    content = bytes([len(name)]) + name + body
    return bytes([0x04, len(content)]) + content


def long_frame(announced: int, content: bytes = b"", *, flags: int = 0x06) -> bytes:
    """A frame with an eight-byte length prefix, which may lie. The flags say long command, or (0x02) long message."""
    return bytes([flags]) + struct.pack(">Q", announced) + content


CURVE = greeting(b"CURVE")

TURNED_AWAY = {
    "http": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" + bytes(64),
    "noise": random.Random(1).randbytes(1 << 16),
    "no mechanism": greeting(b"NULL") + command(b"READY", b"\x0bSocket-Type\0\0\0\x06DEALER"),
    "a name and a password": greeting(b"PLAIN") + command(b"HELLO", b"\x05admin\x05admin"),
    "an unknown mechanism": greeting(b"GSSAPI"),
    "zmtp 1": b"\x01\0" + b"\x06\0hello" + b"\x06\0there" + bytes(64),
    "zmtp 2": b"\xff" + bytes(8) + b"\x7f\x01\x05" + b"\0\0" + b"\0\x05hello",
    "a frame in place of the handshake": CURVE + b"\x01\x14" + bytes(20) + b"\x00\x05hello",
    "a short hello": CURVE + command(b"HELLO", b"\x01\0"),
    "a hello of noise": CURVE + command(b"HELLO", b"\x01\0" + random.Random(2).randbytes(192)),
    "initiate before hello": CURVE + long_frame(257, b"\x08INITIATE" + bytes(248)),
    "ready before hello": CURVE + command(b"READY", bytes(30)),
    "a length of 2**62": CURVE + long_frame(1 << 62, bytes(1000)),
    "a length of 2**64 - 1": CURVE + long_frame((1 << 64) - 1, bytes(1000)),
    "a length of 1 GiB": CURVE + long_frame(1 << 30, bytes(1000)),
    "a message of 1 GiB": CURVE + long_frame(1 << 30, bytes(1000), flags=0x02),
}
"""What is answered by hanging up, at once."""

HALF_OPEN = {
    "silence": b"",
    "one byte": b"\xff",
    "half a greeting": CURVE[:20],
    "a greeting": CURVE,
    "half a hello": CURVE + command(b"HELLO", b"\x01\0" + bytes(192))[:100],
    "a large length and then nothing": CURVE + long_frame(1 << 20, bytes(1000)),
}
"""What could still become something: it is waited for, but not for ever."""


def place_of(endpoint: str) -> tuple[str, int]:
    parts = urlsplit(endpoint)
    assert parts.hostname is not None
    assert parts.port is not None
    return parts.hostname, parts.port


@contextmanager
def plain_client(endpoint: str, said: bytes = b"") -> Iterator[socket.socket]:
    """A TCP connection without any ZeroMQ, over which something was said already."""
    with socket.create_connection(place_of(endpoint), timeout=PATIENCE_S) as connection:
        with contextlib.suppress(ConnectionError):  # hung up on while it spoke
            connection.sendall(said)
        yield connection


def everything_heard(connection: socket.socket) -> bytes:
    """What the other side says until it hangs up; fails the test if it does not hang up."""
    heard = b""
    try:
        while part := connection.recv(4096):
            heard += part
    except ConnectionResetError:
        pass
    return heard


class Recorder:
    """Stands between an honest peer and a port, passes everything on, and keeps what the peer said."""

    def __init__(self, endpoint: str) -> None:
        self._target = place_of(endpoint)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.endpoint = f"tcp://127.0.0.1:{self._listener.getsockname()[1]}"
        self.said = b""
        self._thread = threading.Thread(target=self._stand, name="recorder")
        self._thread.start()

    def _stand(self) -> None:
        peer, _ = self._listener.accept()
        with peer, socket.create_connection(self._target) as port:
            back = threading.Thread(target=self._pass_back, args=(port, peer), name="recorder-back")
            back.start()
            with contextlib.suppress(OSError):
                while part := peer.recv(1 << 16):
                    self.said += part
                    port.sendall(part)
            with contextlib.suppress(OSError):
                port.shutdown(socket.SHUT_RDWR)
            back.join()

    @staticmethod
    def _pass_back(port: socket.socket, peer: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while part := port.recv(1 << 16):
                peer.sendall(part)
            peer.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None:
        """To be left when the peer has gone."""
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive(), "the peer has not hung up"
        self._listener.close()
