"""A driver in a process of its own: a process has one Spark context at a time, and the tests' own is a local one."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Any, Self

# Less than a test may take, so that it is told which function it was.
PATIENCE_S = 550.0
QUIET = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
"""For drivers that nobody looks at."""
_ROOT = Path(__file__).parents[2]


class RemoteDriver:
    """Runs functions of a session in another process, one after another."""

    def __init__(
        self,
        master: str,
        settings: dict[str, str],
        *,
        connect: bool = False,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            arguments = repr({"master": master, "settings": settings, "connect": connect})
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.spark.remote_driver", str(theirs.fileno()), arguments],
                cwd=_ROOT,
                pass_fds=[theirs.fileno()],
                env=os.environ
                | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
                | dict(environment or {}),
                start_new_session=True,
            )
        self._channel = Connection(ours.detach())

    def __call__(self, function: Callable[..., Any], **arguments: Any) -> Any:
        """Calls a function of the test suite with that driver's session."""
        self._channel.send((function, arguments))
        assert self._channel.poll(PATIENCE_S), f"{function.__name__} did not return within {PATIENCE_S:g} s"
        worked, value = self._channel.recv()
        assert worked, f"{function.__name__} raised in the driver:\n{value}"
        return value

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._channel.close()  # it takes that as its end
        try:
            self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise


def _serve(channel: Connection, master: str, settings: dict[str, str], *, connect: bool) -> None:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("tests")
    builder = builder.remote(master) if connect else builder.master(master)
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    try:
        while True:
            function, arguments = channel.recv()
            try:
                answer = True, function(spark, **arguments)
            except Exception:
                answer = False, traceback.format_exc()
            channel.send(answer)
    except EOFError:
        spark.stop()


if __name__ == "__main__":
    import ast

    _serve(Connection(int(sys.argv[1])), **ast.literal_eval(sys.argv[2]))
