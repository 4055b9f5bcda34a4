"""The process that serves a side, and talking to it: an object of JSON per line, over a socket that it inherits."""

import os
import select
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from bench.gate.build import GateError
from bench.history import REPOSITORY
from bench.wordcount.runner import end_session

_PATIENCE_S = 300.0
_LOOK_S = 0.005
_LAST_CHARACTERS = 3000


class Side:
    """A process with a Spark session that measures what it is asked to; both are kept for all rounds."""

    def __init__(self, name: str, python: Path, log: Path, module: str = "bench.gate.probe") -> None:
        """Start it, in a session of its own, by which all that it starts can be found."""
        self.name = name
        self._log = log
        ours, theirs = socket.socketpair()
        with theirs, log.open("wb") as output:
            self._process = subprocess.Popen(
                [python, "-m", module, str(theirs.fileno())],
                cwd=REPOSITORY,
                env={**os.environ, "PYTHONPATH": str(REPOSITORY), "PYSPARK_PYTHON": str(python)},
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._socket = ours
        self._lines = ours.makefile("rb")

    @property
    def session(self) -> int:
        """The session of all its processes."""
        return self._process.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End all its processes."""
        self._lines.close()
        self._socket.close()
        end_session(self._process.pid)
        self._process.wait()

    def ask(self, what: str, while_waiting: Callable[[], object] | None = None, **arguments: Any) -> dict[str, Any]:
        """Have it call `what`, and wait for the answer.

        Raises:
            GateError: it failed, died or hangs.
        """
        self._socket.sendall(msgspec.json.encode({"what": what, "arguments": arguments}) + b"\n")
        deadline_s = time.monotonic() + _PATIENCE_S
        while not select.select([self._socket], [], [], _LOOK_S if while_waiting else 1.0)[0]:
            if while_waiting:
                while_waiting()
            if time.monotonic() > deadline_s:
                raise GateError(self._why(what, f"did not answer within {_PATIENCE_S:g} s"))
        answer: dict[str, Any] = msgspec.json.decode(self._lines.readline() or b'{"error": "died"}')
        if "error" in answer:
            raise GateError(self._why(what, answer["error"]))
        return answer

    def _why(self, what: str, reason: str) -> str:
        last_words = self._log.read_text(errors="replace")[-_LAST_CHARACTERS:].strip()
        return f"{self.name}, {what}: {reason}\n{last_words}"
