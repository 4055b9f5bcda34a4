"""An end in Python: a freshly spawned interpreter that serves one side of a transport."""

import contextlib
import ctypes
import multiprocessing
import os
import signal
import sys
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import msgspec

from bench.ipc.control import Answer, EndError

_LEAVE_S = 5.0
_PR_SET_PDEATHSIG = 1

SPAWN = multiprocessing.get_context("spawn")


class Line:
    """The end's side of the conversation."""

    def __init__(self, connection: "Connection[Any, Any]") -> None:
        """Speak over `connection`."""
        self._connection = connection

    def answer(self, answer: Answer) -> None:
        """Send one answer."""
        self._connection.send_bytes(msgspec.json.encode(answer))

    def question(self) -> list[str] | None:
        """Wait for the words of the next question; None when the line is cut."""
        try:
            return self._connection.recv_bytes().decode().split()
        except (EOFError, OSError):
            return None


class PythonEnd:
    """A spawned process that runs `serve(line, *arguments)`."""

    def __init__(self, name: str, serve: Callable[..., None], *arguments: object) -> None:
        """Start the process. The arguments are inherited, so they may hold pipes, locks and queues."""
        self._name = name
        self._connection, theirs = SPAWN.Pipe()
        self._process = SPAWN.Process(target=_run, args=(os.getpid(), theirs, serve, arguments), name=name, daemon=True)
        self._process.start()
        theirs.close()

    @property
    def pid(self) -> int | None:
        """The process."""
        return self._process.pid

    def ask(self, line: str) -> None:
        """Send one line."""
        try:
            self._connection.send_bytes(line.encode())
        except OSError as error:
            msg = f"{self._name} does not take {line!r}: {error}"
            raise EndError(msg) from error

    def answer(self, timeout_s: float) -> Answer:
        """Wait for an answer; raise `EndError` if it is an error or does not come."""
        if not self._connection.poll(timeout_s):
            msg = f"{self._name} did not answer within {timeout_s:g} s"
            raise EndError(msg)
        try:
            answer = msgspec.json.decode(self._connection.recv_bytes(), type=Answer)
        except (EOFError, OSError) as error:
            self._process.join(_LEAVE_S)
            msg = f"{self._name} died, exit code {self._process.exitcode}"
            raise EndError(msg) from error
        if answer.error:
            msg = f"{self._name} failed: {answer.error}"
            raise EndError(msg)
        return answer

    def close(self) -> None:
        """Cut the line and see the process off; kill it if it does not leave."""
        self._connection.close()
        self._process.join(_LEAVE_S)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._process.close()


def _run(
    parent: int,
    connection: "Connection[Any, Any]",
    serve: Callable[..., None],
    arguments: tuple[object, ...],
) -> None:
    # An interrupt goes to the whole terminal; the parent alone decides what becomes of it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _die_with(parent)
    line = Line(connection)
    try:
        serve(line, *arguments)
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        reason = f"{type(error).__name__}: {error} ({place.filename}, line {place.lineno})"
        with contextlib.suppress(OSError):  # the parent does not want to know any more
            line.answer(Answer(error=reason))
        sys.exit(1)


def _die_with(parent: int) -> None:
    """Have the kernel kill this process when the parent dies, even while it is stuck in native code."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the call above
        os._exit(1)
