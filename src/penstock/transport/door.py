"""The ring's door: hands the memory to writers of the same user, and learns when they die.

A unix socket in the abstract namespace, so that no file can be left behind. A writer that is let in gets the memory's
descriptor and a slot, and keeps the connection for as long as it lives: its end of file is the death notice. Where
the kernel can show us the process itself (a pidfd), end of file alone is not taken for death: a process that lost its
sockets may still be writing.

    writer                          door
      | Hello ----------------------->|  checks the peer's user, finds a slot
      |<------- Welcome + descriptor  |  or Refusal(reason)
      | attached -------------------->|  it has mapped the memory, and may write
      :                               :
      X (dies)                        |  end of file, pidfd: the slot is retired, the ring recovers
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import selectors
import socket
import struct
import threading
import time
from typing import Protocol, Self

import msgspec

from penstock.errors import RingAttachError
from penstock.transport.process_identity import ProcessIdentity

__all__ = ["Admission", "Door"]

_PROTOCOL = 1
_HELLO_WITHIN_S = 5.0
_NO_DESCRIPTORS_WAIT_S = 0.05
_SO_PEERPIDFD = 77  # Linux 6.5: a pidfd of the peer itself, free of any race with pid reuse
_MAX_MESSAGE = 4096


class _Hello(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """A writer's greeting; with a slot and nonce if it is attached already and meets a new reader."""

    protocol: int
    known_slot: int | None
    known_nonce: int | None


class _Welcome(msgspec.Struct, frozen=True, tag=True, array_like=True):
    slot: int
    nonce: int


class _Refusal(msgspec.Struct, frozen=True, tag=True, array_like=True):
    reason: str


_decode_hello = msgspec.msgpack.Decoder(_Hello).decode
_decode_answer: msgspec.msgpack.Decoder[_Welcome | _Refusal] = msgspec.msgpack.Decoder(_Welcome | _Refusal)
_encode = msgspec.msgpack.Encoder().encode
# What decoding may raise: a tag that is no text, and nesting without end, are not DecodeErrors.
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class Admission:
    """What a writer got at the door: the ring's memory, a slot, and the connection that says it lives."""

    def __init__(self, address: str, connection: socket.socket, memory_fd: int, welcome: _Welcome) -> None:
        self.address = address
        self.connection = connection
        self.memory_fd = memory_fd
        self.slot = welcome.slot
        self.nonce = welcome.nonce

    @classmethod
    def ask(
        cls,
        address: str,
        *,
        timeout_s: float,
        known_slot: int | None = None,
        known_nonce: int | None = None,
    ) -> Self:
        """Knocks at `address`; raises RingAttachError with the reason if not let in."""
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        fds: list[int] = []
        try:
            connection.settimeout(timeout_s)
            connection.connect(_abstract(address))
            _, uid = _peer(connection)
            if uid != os.geteuid():
                message = f"the ring at {address!r} belongs to user {uid}; this process runs as {os.geteuid()}"
                raise RingAttachError(message)
            connection.send(_encode(_Hello(_PROTOCOL, known_slot, known_nonce)))
            data, fds, _, _ = socket.recv_fds(connection, _MAX_MESSAGE, 1)
            if not data:
                message = f"the reader of the ring at {address!r} closed its door"
                raise RingAttachError(message)
            answer = _decode_answer.decode(data)
            if isinstance(answer, _Refusal):
                message = f"the ring at {address!r} did not let us in: {answer.reason}"
                raise RingAttachError(message)
            if len(fds) != 1:
                message = f"the ring at {address!r} sent no memory"
                raise RingAttachError(message)
            os.set_inheritable(fds[0], False)
            connection.settimeout(None)
            return cls(address, connection, fds[0], answer)
        except (OSError, *_UNREADABLE) as error:
            _close_all(connection, fds)
            message = (
                f"no ring can be reached at {address!r} ({error}): its reader is gone, or runs on another host or in "
                f"another network namespace. Memory cannot be shared; use a network link"
            )
            raise RingAttachError(message) from error
        except BaseException:
            _close_all(connection, fds)
            raise

    def take(self) -> None:
        """Tells the door that the memory is mapped: from now on only our death, or leaving, frees the slot."""
        try:
            self.connection.send(b"attached")
        except OSError as error:
            message = f"the reader of the ring at {self.address!r} closed its door"
            raise RingAttachError(message) from error

    def close(self) -> None:
        """Closes the connection and our descriptor of the memory."""
        self.connection.close()
        if self.memory_fd >= 0:
            os.close(self.memory_fd)
            self.memory_fd = -1


class RingBehind(Protocol):
    """What the door needs of the ring."""

    @property
    def memory_fd(self) -> int: ...
    @property
    def nonce(self) -> int: ...
    def admit(self, pid: int, start_time: int) -> int | None: ...
    def retire(self, slot: int) -> None: ...
    def live_slots(self) -> list[tuple[int, int, int]]: ...


class _Guest:
    """A producer as the door sees it: not let in yet (slot None), or attached."""

    def __init__(self, connection: socket.socket | None, pidfd: int | None) -> None:
        self.connection = connection
        self.pidfd = pidfd
        self.offered: int | None = None  # a slot that it was told of and has not taken yet
        self.offer_is_new = False  # the slot was vacant, and is again if it is not taken
        self.slot: int | None = None
        self.arrived = time.monotonic()

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()
        if self.pidfd is not None:
            os.close(self.pidfd)


class Door:
    """Minds one ring's door, in a thread of its own, until closed."""

    def __init__(self, ring: RingBehind) -> None:
        self._ring = ring
        self.address = f"penstock-ring-{secrets.token_hex(16)}"
        self._selector = selectors.DefaultSelector()
        self._guests: set[_Guest] = set()
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._closing, self._stop = socket.socketpair()
        self._listener.bind(_abstract(self.address))
        self._listener.listen(128)
        self._listener.setblocking(False)
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._closing, selectors.EVENT_READ)
        for slot, pid, start_time in ring.live_slots():  # a ring that was resumed has producers already
            self._watch_producer(slot, pid, start_time)
        self._thread = threading.Thread(target=self._mind, name="penstock-door", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Closes the door and all connections: writers see that the reader is gone."""
        if self._thread.is_alive():
            self._stop.close()
            self._thread.join()
        self._close_sockets()

    def close_after_fork(self) -> None:
        """In a forked child: closes the copies, and nothing more. The thread is the parent's.

        To unregister would reach into the parent: both share what stands behind the selector's descriptor.
        """
        for guest in self._guests:
            guest.close()
        self._guests.clear()
        for thing in (self._selector, self._listener, self._closing, self._stop):
            thing.close()

    def _close_sockets(self) -> None:
        for guest in list(self._guests):
            self._forget(guest)
        for thing in (self._listener, self._closing, self._stop, self._selector):
            thing.close()

    def _mind(self) -> None:
        while True:
            hurry = any(guest.slot is None and guest.offered is None for guest in self._guests)
            for key, _ in self._selector.select(_HELLO_WITHIN_S if hurry else None):
                if key.fileobj is self._closing:
                    return
                if key.fileobj is self._listener:
                    self._open()
                elif key.data in self._guests:  # it may have gone while we handled another event of this round
                    self._attend(key.data, about_pidfd=key.fd == key.data.pidfd)
            for guest in [guest for guest in self._guests if guest.slot is None and guest.offered is None]:
                if time.monotonic() - guest.arrived > _HELLO_WITHIN_S:
                    self._forget(guest)

    def _open(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError as error:  # it hung up while it waited: it may retry
            if error.errno in (errno.EMFILE, errno.ENFILE):
                time.sleep(_NO_DESCRIPTORS_WAIT_S)  # it goes on waiting, and we must not spin over it
            return
        connection.setblocking(False)
        guest = _Guest(connection, _peer_pidfd(connection))
        self._guests.add(guest)
        self._selector.register(connection, selectors.EVENT_READ, guest)

    def _attend(self, guest: _Guest, *, about_pidfd: bool) -> None:
        if about_pidfd:
            self._died(guest)
            return
        data = b""
        with contextlib.suppress(OSError):
            assert guest.connection is not None
            data = guest.connection.recv(_MAX_MESSAGE)
        if not data:
            self._hung_up(guest)
        elif guest.offered is not None:
            self._attached(guest, guest.offered)
        elif guest.slot is None:
            self._offer(guest, data)

    def _offer(self, guest: _Guest, data: bytes) -> None:
        assert guest.connection is not None
        held = {slot for slot, _, _ in self._ring.live_slots()}
        answer: _Welcome | _Refusal
        try:
            answer, slot = self._judge(guest.connection, data)
        except OSError as error:  # we are short of descriptors, say: the others have to be minded all the same
            answer, slot = _Refusal(f"its reader cannot look who the caller is: {error}"), None
        guest.offered, guest.offer_is_new = slot, slot not in held
        try:
            socket.send_fds(guest.connection, [_encode(answer)], [] if slot is None else [self._ring.memory_fd])
        except OSError:
            slot = None
        if slot is None:
            self._hung_up(guest)

    def _attached(self, guest: _Guest, slot: int) -> None:
        """It has mapped the memory, and may write from now on."""
        for other in [other for other in self._guests if other.slot == slot]:
            self._forget(other)  # it was watched by pid since the ring was resumed; now it has come by itself
        guest.slot, guest.offered = slot, None
        if guest.pidfd is not None:
            self._selector.register(guest.pidfd, selectors.EVENT_READ, guest)

    def _judge(self, connection: socket.socket, data: bytes) -> tuple[_Welcome | _Refusal, int | None]:
        pid, uid = _peer(connection)
        if uid != os.geteuid():
            return _Refusal(f"the ring belongs to user {os.geteuid()}, and the caller is user {uid}"), None
        try:
            hello = _decode_hello(data)
        except _UNREADABLE as error:
            return _Refusal(f"unknown greeting: {error}"), None
        if hello.protocol != _PROTOCOL:
            return _Refusal(f"protocol wanted={_PROTOCOL} got={hello.protocol}: different versions of Penstock"), None
        if hello.known_slot is not None:
            slots = {slot: owner for slot, owner, _ in self._ring.live_slots()}
            if hello.known_nonce != self._ring.nonce or slots.get(hello.known_slot) != pid:
                return _Refusal(f"pid={pid} does not hold slot={hello.known_slot} of this ring"), None
            return _Welcome(hello.known_slot, self._ring.nonce), hello.known_slot
        slot = self._ring.admit(pid, ProcessIdentity.of(pid).start_time)
        if slot is None:
            return _Refusal("all producer slots are taken (max_producers)"), None
        return _Welcome(slot, self._ring.nonce), slot

    def _hung_up(self, guest: _Guest) -> None:
        if guest.slot is None:
            # It never attached, so it never wrote. A slot that it had before, it still has.
            if guest.offered is not None and guest.offer_is_new:
                self._ring.retire(guest.offered)
            self._forget(guest)
        elif guest.pidfd is None or all(slot != guest.slot for slot, _, _ in self._ring.live_slots()):
            self._died(guest)  # end of file is all the proof there can be; or it left in good order
        elif guest.connection is not None:
            # The process may live on without its socket, and write. Wait for the pidfd.
            self._selector.unregister(guest.connection)
            guest.connection.close()
            guest.connection = None

    def _died(self, guest: _Guest) -> None:
        if guest.slot is not None:
            self._ring.retire(guest.slot)
        self._forget(guest)

    def _watch_producer(self, slot: int, pid: int, start_time: int) -> None:
        """Watches a producer of a resumed ring, which has no connection to us."""
        identity = ProcessIdentity.of(pid)
        if identity.start_time != start_time or identity.is_provably_dead():
            self._ring.retire(slot)
            return
        try:
            guest = _Guest(None, os.pidfd_open(pid))
        except ProcessLookupError:  # it went while we looked
            self._ring.retire(slot)
            return
        except OSError:  # the kernel does not show it to us: it must come by itself
            return
        guest.slot = slot
        self._guests.add(guest)
        assert guest.pidfd is not None
        self._selector.register(guest.pidfd, selectors.EVENT_READ, guest)

    def _forget(self, guest: _Guest) -> None:
        self._guests.discard(guest)
        for watched in (guest.connection, guest.pidfd):
            if watched is not None:
                with contextlib.suppress(KeyError):
                    self._selector.unregister(watched)
        guest.close()


def _abstract(address: str) -> str:
    return f"\0{address}"


def _peer(connection: socket.socket) -> tuple[int, int]:
    """The pid (0 if it is not in our pid namespace) and the user of the process at the other end."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    pid, uid, _ = struct.unpack("3i", credentials)
    return pid, uid


def _peer_pidfd(connection: socket.socket) -> int | None:
    """A descriptor that becomes readable when the peer's process dies; None if the kernel shows us none."""
    with contextlib.suppress(OSError):
        return connection.getsockopt(socket.SOL_SOCKET, _SO_PEERPIDFD)
    pid, _ = _peer(connection)
    if pid > 0:
        with contextlib.suppress(OSError):
            return os.pidfd_open(pid)
    return None


def _close_all(connection: socket.socket, fds: list[int]) -> None:
    connection.close()
    for fd in fds:
        os.close(fd)
