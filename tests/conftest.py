"""What holds for every test: nothing leaks."""

import gc
import os
import socket
import stat
import sys
import threading
import time
from collections.abc import Iterator
from multiprocessing import forkserver, resource_tracker
from pathlib import Path
from typing import Any

import pytest

pytest_plugins = ["tests.ring.nursery_fixtures", "tests.small_disk", "tests.tries"]

# Of two cores, numpy's linear algebra takes both in every process that imports it, to wait for work.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# How long a thread or child that was told to end may take until it counts as leaked.
LEAK_PATIENCE_S = 60.0


def _open_descriptors() -> set[str]:
    found = set()
    for entry in Path("/proc/self/fd").iterdir():
        try:
            found.add(f"descriptor {entry.name} -> {entry.readlink()}")
        except FileNotFoundError:  # the descriptor of this very listing
            continue
    return found


def _shared_memory() -> set[str]:
    maps = Path("/proc/self/maps").read_text().splitlines()
    return {f"mapping {line}" for line in maps if "/memfd:" in line or "/dev/shm/" in line}


def _threads() -> set[str]:
    return {f"thread {thread.name} ({thread.ident})" for thread in threading.enumerate()}


def _children() -> set[str]:
    pids = set()
    for task in Path("/proc/self/task").iterdir():
        try:
            pids.update((task / "children").read_text().split())
        except FileNotFoundError:  # a thread that just ended
            continue
    return {f"child process {pid}" for pid in pids if not _serves_multiprocessing(pid)}


def _serves_multiprocessing(pid: str) -> bool:
    """Whether this is the resource tracker or fork server, which an interpreter keeps for all tests."""
    command_line = _command_line(pid)
    return "multiprocessing.resource_tracker" in command_line or "multiprocessing.forkserver" in command_line


def _command_line(pid: str) -> str:
    try:
        return Path("/proc", pid, "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return ""


def _resources() -> set[str]:
    return _open_descriptors() | _shared_memory() | _threads() | _children()


def _multiprocessing_descriptors() -> set[str]:
    """The pipes to the resource tracker and the fork server, which live as long as the interpreter."""
    kept = (resource_tracker._resource_tracker, "_fd"), (forkserver._forkserver, "_forkserver_alive_fd")
    return {f"descriptor {getattr(owner, attribute, None)} " for owner, attribute in kept}


def _accumulator_descriptors() -> set[str]:
    """Spark's connection to the accumulators of its driver. It opens another one when a query was interrupted."""
    context = getattr(sys.modules.get("pyspark"), "SparkContext", None)
    server = getattr(getattr(context, "_active_spark_context", None), "_accumulatorServer", None)
    return set() if server is None else {f"descriptor {fd} " for fd in _connections_to(server.server_address[1])}


def _callbacks() -> set[str]:
    """What calls into Python hold: Py4J keeps a thread and a connection for each query with `foreachBatch`."""
    kept = set()
    for thread in threading.enumerate():
        connection: Any = getattr(getattr(thread, "_target", None), "__self__", None)
        if type(connection).__module__ == "py4j.clientserver":
            kept.add(f"thread {thread.name} ({thread.ident})")
            sockets = (value for value in vars(connection).values() if isinstance(value, socket.socket))
            kept |= {f"descriptor {one.fileno()} " for one in sockets}
    return kept


def _connections_to(port: int) -> Iterator[int]:
    for fd in [int(entry.name) for entry in Path("/proc/self/fd").iterdir()]:
        try:
            if not stat.S_ISSOCK(os.fstat(fd).st_mode):
                continue
            own = os.dup(fd)
        except OSError:  # the descriptor of that listing, or one that another thread has just closed
            continue
        with socket.socket(fileno=own) as connection:
            if connection.family == socket.AF_INET and connection.getsockname()[1] == port:
                yield fd


@pytest.fixture(autouse=True)
def nothing_leaks() -> Iterator[None]:
    """Fail a test that leaves a descriptor, a shared mapping, a thread or a child process behind."""
    before = _resources()
    owner = os.getpid()
    yield
    if os.getpid() != owner:  # a forked child that fell out of its test has other troubles
        return
    deadline = time.monotonic() + LEAK_PATIENCE_S
    while leaked := _leaked_since(before):
        gc.collect()  # what only a cycle keeps alive is not leaked
        if time.monotonic() > deadline:
            pytest.fail("left behind by the test:\n  " + "\n  ".join(sorted(map(_described, leaked))))
        time.sleep(0.01)


def _described(leaked: str) -> str:
    """What it is, and where a socket leads to."""
    if "-> socket:" not in leaked:
        return leaked
    try:
        with socket.socket(fileno=os.dup(int(leaked.split()[1]))) as one:
            state = "listens" if one.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) else "does not listen"
            try:
                peer = one.getpeername()
            except OSError:
                peer = None
            return f"{leaked}: {one.family.name} {one.type.name} at {one.getsockname()!r} to {peer!r}, {state}"
    except OSError as error:
        return f"{leaked}: {error}"


def _leaked_since(before: set[str]) -> set[str]:
    kept = tuple(_multiprocessing_descriptors() | _accumulator_descriptors() | _callbacks())
    return {resource for resource in _resources() - before if not resource.startswith(kept)}
