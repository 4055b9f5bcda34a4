"""The tasks of a barrier stage tell each other something, where one executor has all of them.

Spark's `allGather` does that anywhere, but looks only once a second whether all have come. Tasks of one executor share
a network namespace, so they meet at a unix socket in its abstract namespace instead:

    the first task that comes binds the name, and is the host
    the others connect, each sends its number, its attempt and its text
    when all have come, the host sends all texts to each

Tasks of an attempt that Spark has given up may still be there when the next begins: it kills them after seconds. Of two
tasks of one number the newer stays, and the older is sent away. So is a task whose id is so much older than another's
that they cannot be of one attempt: Spark numbers all tasks of a barrier stage in one go. If it is the host that is too
old, it goes, and its guests look for another. What still gets mixed up fails when Spark kills the old tasks: then the
whole stage begins anew.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import struct
import threading
import time

import msgspec

from penstock.errors import RunError

__all__ = ["Meeting"]

PATIENCE_S = 300.0
"""How long a task waits for the others. Spark starts all at once; a busy machine takes a while to fork and import."""
_GREETING_WITHIN_S = 10.0
_MOST_BYTES = 64 << 20
_LENGTH = struct.Struct("<I")
_CREDENTIALS = struct.Struct("3i")  # pid, uid, gid


class _Greeting(msgspec.Struct, frozen=True, array_like=True):
    number: int
    attempt: int
    text: str


class _Guest(msgspec.Struct, frozen=True):
    greeting: _Greeting
    connection: socket.socket


class Meeting:
    """One task's part in it.

    Args:
        place: the same in all tasks of the stage, and in no other stage; nobody else can guess it.
        number: of this task, from 0.
        count: how many tasks there are.
        attempt: Spark's id of this task, which no other attempt has.
    """

    def __init__(self, place: str, *, number: int, count: int, attempt: int) -> None:
        self._address = f"\0{place}"
        self._number = number
        self._count = count
        self._attempt = attempt
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._called_off = False

    def gather(self, text: str) -> list[str]:
        """What all tasks told, in the order of their numbers, given what this one tells.

        Raises:
            RunError: somebody did not come, this task is of an attempt that is over, or it was called off.
        """
        if self._count == 1:
            return [text]
        own = _Greeting(self._number, self._attempt, text)
        deadline_s = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline_s:
            with self._new_socket() as door:
                door.settimeout(_left_s(deadline_s))
                try:
                    door.bind(self._address)
                except OSError as error:
                    if error.errno != errno.EADDRINUSE:
                        raise
                    told = self._visit(door, own, deadline_s)
                else:
                    door.listen(self._count)
                    told = self._host(door, own, deadline_s)
            if told is not None:
                return told
            time.sleep(0.001)  # the host does not listen yet, or has just gone
        raise self._late_are([number for number in range(self._count) if number != self._number])

    def call_off(self) -> None:
        """Has `gather`, in another thread, end at once."""
        with self._lock:
            self._called_off = True
            if self._socket is None:
                return
            # To shut it down wakes a guest; a host is woken by a visitor alone, who has to come before that.
            with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as visitor:
                visitor.settimeout(1.0)
                visitor.connect(self._address)
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def _new_socket(self) -> socket.socket:
        with self._lock:
            self._require_wanted()
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            return self._socket

    def _require_wanted(self) -> None:
        if self._called_off:
            message = f"task {self._number} of this stage does not meet the others: it has failed"
            raise RunError(message)

    def _visit(self, connection: socket.socket, own: _Greeting, deadline_s: float) -> list[str] | None:
        """What the host tells; None if there is none, or it goes away before it does."""
        try:
            connection.connect(self._address)
            if not _is_own_user(connection):
                message = f"task {self._number}: the place where the tasks of its stage meet belongs to another user"
                raise RunError(message)
            _send(connection, msgspec.msgpack.encode(own))
            connection.settimeout(_left_s(deadline_s))
            answer = _received(connection)
        except OSError:  # not there yet, full, gone, or silent for too long: the caller knows how long it has
            self._require_wanted()
            return None
        if answer is None:
            self._require_wanted()
            return None
        texts = msgspec.msgpack.decode(answer, type=list[str])
        if len(texts) != self._count:
            raise self._superseded()
        return texts

    def _host(self, door: socket.socket, own: _Greeting, deadline_s: float) -> list[str]:
        guests: dict[int, _Guest] = {}
        with contextlib.ExitStack() as connections:
            while len(guests) + 1 < self._count:
                self._require_wanted()
                door.settimeout(_left_s(deadline_s))
                try:
                    connection, _ = door.accept()
                except TimeoutError:
                    raise self._late_are(sorted({*range(self._count)} - {*guests, self._number})) from None
                except OSError:
                    self._require_wanted()
                    raise
                connections.enter_context(connection)
                greeting = self._greeted(connection)
                if greeting is None:
                    connection.close()
                else:
                    self._let_in(_Guest(greeting, connection), guests)
            texts = {number: guest.greeting.text for number, guest in guests.items()} | {self._number: own.text}
            everything = [texts[number] for number in range(self._count)]
            for guest in guests.values():
                with contextlib.suppress(OSError):  # it is gone: that is found out when it is spoken to
                    _send(guest.connection, msgspec.msgpack.encode(everything))
        return everything

    def _greeted(self, connection: socket.socket) -> _Greeting | None:
        """How somebody introduces itself; None if that is no task of this stage."""
        if not _is_own_user(connection):
            return None
        connection.settimeout(_GREETING_WITHIN_S)
        try:
            greeting = msgspec.msgpack.decode(_received(connection) or b"", type=_Greeting)
        except (OSError, msgspec.DecodeError):
            return None
        return greeting if 0 <= greeting.number < self._count else None

    def _let_in(self, newcomer: _Guest, guests: dict[int, _Guest]) -> None:
        """Adds it, unless it is of an attempt that is over; who turns out to be, because of it, is sent away."""
        number, attempt = newcomer.greeting.number, newcomer.greeting.attempt
        if number == self._number and attempt > self._attempt:
            raise self._superseded()
        known = guests.get(number)
        if number == self._number or (known is not None and known.greeting.attempt > attempt):
            _send_away(newcomer)
            return
        if known is not None:
            _send_away(known)
        guests[number] = newcomer
        newest = max(self._attempt, *(guest.greeting.attempt for guest in guests.values()))
        if self._attempt <= newest - self._count:
            raise self._superseded()
        for guest in [guest for guest in guests.values() if guest.greeting.attempt <= newest - self._count]:
            del guests[guest.greeting.number]
            _send_away(guest)

    def _superseded(self) -> RunError:
        return RunError(f"task {self._number} is of an attempt of its stage that is over")

    def _late_are(self, numbers: list[int]) -> RunError:
        return RunError(f"task {self._number} waited {PATIENCE_S:g} s for tasks {numbers} of its stage")


def _send_away(guest: _Guest) -> None:
    with contextlib.suppress(OSError):
        _send(guest.connection, msgspec.msgpack.encode([]))
    guest.connection.close()


def _send(connection: socket.socket, message: bytes) -> None:
    connection.sendall(_LENGTH.pack(len(message)) + message)


def _received(connection: socket.socket) -> bytes | None:
    """A whole message; None if the other side has closed before there was one."""
    head = _exactly(connection, _LENGTH.size)
    size = 0 if head is None else _LENGTH.unpack(head)[0]
    return _exactly(connection, size) if 0 < size <= _MOST_BYTES else None


def _exactly(connection: socket.socket, size: int) -> bytes | None:
    got = bytearray()
    while len(got) < size:
        part = connection.recv(size - len(got))
        if not part:
            return None
        got += part
    return bytes(got)


def _is_own_user(connection: socket.socket) -> bool:
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return bool(_CREDENTIALS.unpack(credentials)[1] == os.geteuid())


def _left_s(deadline_s: float) -> float:
    return max(0.001, deadline_s - time.monotonic())
