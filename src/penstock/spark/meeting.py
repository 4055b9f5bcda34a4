"""The tasks of a barrier stage tell each other something, in the order of their numbers.

Spark's `allGather` does that, but looks only once a second whether all have come. Tasks of one executor share a network
namespace, so they meet at a unix socket in its abstract namespace instead:

    the first task that comes binds the name, and is the host
    the others connect, each sends its number and its text
    when all have come, the host sends all texts to each

A task of an attempt that Spark has given up may still be there. Then a number comes twice, or somebody waits in vain:
both are errors, and Spark starts the whole stage anew.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import struct
import time
from typing import Any

import msgspec

from penstock.errors import RunError

__all__ = ["all_texts", "meet"]

PATIENCE_S = 60.0
"""How long a task waits for the others. Spark starts all at once, and what takes long is the first Python process."""
LONGEST_MESSAGE_BYTES = 1 << 17  # so that all texts fit into the buffer of a socket
_CREDENTIALS = struct.Struct("3i")  # pid, uid, gid


class _Told(msgspec.Struct, frozen=True, array_like=True):
    number: int
    text: str


def all_texts(context: Any, place: str, text: str) -> list[str]:
    """What each task of the stage told, given what this one tells.

    Args:
        context: of a task in a barrier stage.
        place: the same name in all tasks of the stage, and in no other stage.
        text: what the others are told.
    """
    executors = [info.address for info in context.getTaskInfos()]
    if len(set(executors)) > 1:
        told: list[str] = context.allGather(text)
        return told
    return meet(place, context.partitionId(), len(executors), text)


def meet(place: str, number: int, count: int, text: str) -> list[str]:
    """What all of `count` processes of this network namespace told, in the order of their numbers.

    Raises:
        RunError: somebody did not come, went away before all had come, or came twice.
    """
    if count == 1:
        return [text]
    address = f"\0{place}"
    while True:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as own:
            own.settimeout(PATIENCE_S)
            try:
                own.bind(address)
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
            else:
                own.listen(count)
                return _host(own, number, count, text)
            with contextlib.suppress(ConnectionRefusedError):  # between the host's bind and its listen
                own.connect(address)
                return _visit(own, number, count, text)
        time.sleep(0.001)


def _host(own: socket.socket, number: int, count: int, text: str) -> list[str]:
    texts = {number: text}
    with contextlib.ExitStack() as guests:
        connections = []
        while len(texts) < count:
            try:
                connection, _ = own.accept()
            except TimeoutError:
                missing = sorted(set(range(count)) - set(texts))
                message = f"task {number} waited {PATIENCE_S:g} s for tasks {missing} of its stage"
                raise RunError(message) from None
            guests.enter_context(connection)
            if not _is_own_user(connection):
                connection.close()
                continue
            connection.settimeout(PATIENCE_S)
            told = msgspec.msgpack.decode(_received(connection), type=_Told)
            if told.number in texts:
                message = f"task {told.number} of this stage came twice: an attempt that was given up still runs"
                raise RunError(message)
            texts[told.number] = told.text
            connections.append(connection)
        everything = [texts[one] for one in range(count)]
        for connection in connections:
            with contextlib.suppress(OSError):  # it is gone: that is found out when it is spoken to
                connection.sendall(msgspec.msgpack.encode(everything))
    return everything


def _visit(own: socket.socket, number: int, count: int, text: str) -> list[str]:
    if not _is_own_user(own):
        message = f"task {number}: the place where the tasks of its stage meet belongs to another user"
        raise RunError(message)
    with contextlib.suppress(OSError):  # the host is gone: that is seen when it is listened to
        own.sendall(msgspec.msgpack.encode(_Told(number, text)))
    everything = msgspec.msgpack.decode(_received(own), type=list[str])
    if len(everything) != count:
        message = f"task {number} wanted to meet {count} tasks of its stage, got {len(everything)}"
        raise RunError(message)
    return everything


def _received(connection: socket.socket) -> bytes:
    try:
        message = connection.recv(LONGEST_MESSAGE_BYTES)
    except OSError:  # reset by a peer that was killed, or silent for too long
        message = b""
    if not message:
        complaint = "a task of this stage went away before all had met"
        raise RunError(complaint)
    return message


def _is_own_user(connection: socket.socket) -> bool:
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return bool(_CREDENTIALS.unpack(credentials)[1] == os.getuid())
