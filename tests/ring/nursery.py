"""A clean, single-threaded process that forks children for the tests.

Forking the test process itself would copy the locks of its threads and the descriptors of its rings; a fresh
interpreter for every child would cost a hundred times as much. Children run the native module that has crash points.

The nursery is the children's parent: a child that died stays a zombie until `Child.wait`, so its pid stays its own.
"""

from __future__ import annotations

import ctypes
import importlib.abc
import os
import pickle
import select
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from multiprocessing.connection import Connection
from pathlib import Path
from types import ModuleType
from typing import Any, Concatenate, ParamSpec, Self

from tests.ring.patience import PATIENCE_S
from tests.ring.proc import state

_MOST_BYTES = 1 << 16
_PR_SET_CHILD_SUBREAPER = 36
_ROOT = Path(__file__).parents[2]

Arguments = ParamSpec("Arguments")


class Child:
    """A forked child and the test's end of its channel."""

    def __init__(self, nursery: Nursery, pid: int, channel: Connection) -> None:
        self._nursery = nursery
        self.pid = pid
        self.channel = channel
        self._pidfd: int | None = os.pidfd_open(pid)

    def send_signal(self, signal_number: int) -> None:
        """Sends a signal; does nothing to a child that is dead but not waited for."""
        if self._pidfd is not None:
            os.kill(self.pid, signal_number)

    def is_dead(self) -> bool:
        return self._pidfd is None or bool(select.select([self._pidfd], [], [], 0)[0])

    def is_stopped(self) -> bool:
        return state(self.pid) == "T"

    def receive(self) -> Any:
        """What the child sent next; fails if it sends nothing for very long."""
        assert self.channel.poll(PATIENCE_S), f"child {self.pid} sent nothing for {PATIENCE_S:g} s"
        return self.channel.recv()

    def wait(self) -> int:
        """Waits for its end, reaps it, and returns its exit code (negative: the signal that killed it)."""
        assert self._pidfd is not None, f"child {self.pid} was waited for already"
        assert select.select([self._pidfd], [], [], PATIENCE_S)[0], f"child {self.pid} did not end"
        code: int = self._nursery.ask("reap", self.pid)
        os.close(self._pidfd)
        self._pidfd = None
        self.channel.close()
        self._nursery.children.discard(self)
        return code

    def kill(self) -> int:
        """Kills it, stopped or not, and returns its exit code."""
        self.send_signal(signal.SIGKILL)
        return self.wait()


class Nursery:
    """The test's end of the nursery process. Threads may share it."""

    def __init__(self) -> None:
        self.children: set[Child] = set()
        self._lock = threading.Lock()
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            command = [sys.executable, "-m", "tests.ring.nursery", str(theirs.fileno())]
            self._process = subprocess.Popen(command, cwd=_ROOT, pass_fds=[theirs.fileno()])

    def fork(
        self,
        function: Callable[Concatenate[Connection, Arguments], None],
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Child:
        """Runs `function(channel, ...)` in a new child. The function must be importable by its name."""
        ours, theirs = socket.socketpair()
        with theirs:
            pid = self.ask("fork", function, args, kwargs, descriptors=[theirs.fileno()])
        child = Child(self, pid, Connection(ours.detach()))
        self.children.add(child)
        return child

    def ask(self, *request: object, descriptors: list[int] | None = None) -> Any:
        with self._lock:
            socket.send_fds(self._socket, [pickle.dumps(request)], descriptors or [])
            answer = self._socket.recv(_MOST_BYTES)
        assert answer, "the nursery process died"
        return pickle.loads(answer)

    def clear(self) -> None:
        """Kills and reaps all children."""
        for child in list(self.children):
            child.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()
        self._socket.close()
        assert self._process.wait(PATIENCE_S) == 0


def _run_child(channel: Connection, function: Callable[..., None], args: Any, kwargs: Any) -> None:
    code = 1
    try:
        function(channel, *args, **kwargs)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _reap_orphans(forked: set[int]) -> None:
    """Children of dead children are ours now."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    for pid in {int(pid) for pid in children} - forked:
        os.waitpid(pid, os.WNOHANG)


def _serve(commands: socket.socket) -> None:
    forked: set[int] = set()  # and not reaped yet
    while True:
        request, descriptors, _, _ = socket.recv_fds(commands, _MOST_BYTES, 1)
        if not request:  # the test process is gone
            return
        verb, *rest = pickle.loads(request)
        if verb == "reap":
            answer = os.waitstatus_to_exitcode(os.waitpid(rest[0], 0)[1])
            forked.discard(rest[0])
            _reap_orphans(forked)
        else:
            channel = Connection(descriptors[0])
            answer = os.fork()
            if answer == 0:
                commands.close()
                _run_child(channel, *rest)
            forked.add(answer)
            channel.close()
        commands.send(pickle.dumps(answer))


class _ChaosInstead(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives whoever imports penstock._native the module with the crash points."""

    def find_spec(self, name: str, path: object, target: object = None) -> ModuleSpec | None:  # noqa: ARG002
        return ModuleSpec(name, self) if name == "penstock._native" else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:  # noqa: ARG002
        return importlib.import_module("penstock._native_chaos")

    def exec_module(self, module: ModuleType) -> None:
        """It was, when it was imported."""


if __name__ == "__main__":
    sys.meta_path.insert(0, _ChaosInstead())
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    with socket.socket(fileno=int(sys.argv[1])) as inherited:
        inherited.set_inheritable(False)
        _serve(inherited)
