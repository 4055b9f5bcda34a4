"""Another user of the machine: these functions run in children of the nursery."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

from penstock.control.registry import RunDirectory
from penstock.errors import RunError

NOBODY = 65534


def _become_nobody() -> None:
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


def _outcome(attempt: Callable[[], object]) -> str:
    try:
        return f"done: {attempt()!r}"
    except (OSError, RunError) as error:
        return type(error).__name__


def pry(channel: Connection, folder: Path, file: Path) -> None:
    """Tries to list a folder, to read, replace and remove a file in it, and to put another there."""
    _become_nobody()
    attempts: dict[str, Callable[[], object]] = {
        "list": lambda: list(folder.iterdir()),
        "read": file.read_bytes,
        "replace": lambda: file.write_bytes(b"mine"),
        "remove": file.unlink,
        "plant": lambda: (folder / "planted.run").write_bytes(b"mine"),
        "link": lambda: os.link(file, folder.parent / "linked"),
        "look as Penstock does": RunDirectory(folder).runs,
    }
    channel.send({name: _outcome(attempt) for name, attempt in attempts.items()})


def plant_folder(channel: Connection, folder: Path, content: bytes) -> None:
    """Makes the folder before its owner does, as private as it should be, with a run file in it."""
    _become_nobody()
    folder.mkdir(mode=0o700)
    (folder / "planted.run").write_bytes(content)
    channel.send("planted")


def open_descriptors_of(channel: Connection, pid: int, descriptor: int) -> None:
    """Tries to get at another user's memory through /proc."""
    _become_nobody()
    attempts: dict[str, Callable[[], object]] = {
        "its descriptor": lambda: os.open(f"/proc/{pid}/fd/{descriptor}", os.O_RDWR),
        "its memory": lambda: os.open(f"/proc/{pid}/mem", os.O_RDONLY),
        "its environment": Path(f"/proc/{pid}/environ").read_bytes,
    }
    channel.send({name: _outcome(attempt) for name, attempt in attempts.items()})


def crowd_the_door(channel: Connection, address: str, count: int) -> None:
    """Knocks many times, says nothing, and stays until told to go."""
    _become_nobody()
    knocking = []
    for _ in range(count):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        connection.connect("\0" + address)
        knocking.append(connection)
    channel.send("crowded")
    channel.recv()
