"""Processes that are watched, or watch and fork: these functions run in children of the nursery."""

from __future__ import annotations

import os
import warnings
from multiprocessing.connection import Connection
from pathlib import Path

from penstock.errors import RingClosedError
from penstock.transport.descriptor_watch import DescriptorWatch
from penstock.transport.ring import RingReader, RingSettings

SETTINGS = RingSettings(capacity_bytes=1 << 14, max_producers=2)
# Newer Pythons warn of forks in processes with threads. That it works all the same is what the scene shows.
warnings.filterwarnings("ignore", message=".*multi-threaded.*fork", category=DeprecationWarning)


def speak_when_spoken_to(channel: Connection) -> None:
    """Says back what it hears, until it is killed."""
    while True:
        channel.send(channel.recv())


def _what_is_left_in_the_child(watch: DescriptorWatch, fd: int) -> dict[str, object]:
    try:
        watch.add(fd, 2)
        added = "no error"
    except RingClosedError as error:
        added = type(error).__name__
    watch.remove(fd)
    watch.close()
    links = [
        str(entry.readlink()) for entry in Path("/proc/self/fd").iterdir() if entry.is_symlink() and entry.exists()
    ]
    return {
        "closed": watch.closed,
        "rearm": watch.rearm(fd),
        "add": added,
        "descriptors": sum("eventpoll" in link or "eventfd" in link for link in links),
        "threads": len(list(Path("/proc/self/task").iterdir())),
    }


def watch_around_a_fork(channel: Connection) -> None:
    """Reports what is left of the watch in a forked child, how that ended, and what the parent hears afterwards."""
    readable, writable = os.pipe()
    with RingReader.create(SETTINGS) as ring, DescriptorWatch(ring) as watch:
        watch.add(readable, 1)
        pid = os.fork()
        if pid == 0:
            try:
                channel.send(_what_is_left_in_the_child(watch, readable))
                del watch
                os._exit(0)
            finally:
                os._exit(1)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        os.write(writable, b"x")
        ring.read_many(256, 100)
        channel.send((code, ring.take_bell()))
