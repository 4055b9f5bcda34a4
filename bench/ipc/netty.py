"""Netty 4 over loopback TCP, both ends in Java: what Storm, JStorm, Flink and Spark send messages with."""

import importlib.util
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import msgspec

from bench.ipc.control import Answer, EndError
from bench.ipc.pair import Pair
from bench.ipc.transport import Transport

_SOURCE = Path(__file__).parent / "java" / "NettyEnd.java"
_LEAVE_S = 5.0


class Netty(Transport):
    """Compiled when measured, against the jars that come with PySpark."""

    name = "Netty"

    def absence(self) -> str | None:
        """What is missing of the Java tools and of the jars."""
        for tool in ("javac", "java"):
            if shutil.which(tool) is None:
                return f"no {tool} on the PATH"
        if not _netty_jars():
            return "no netty jars: they come with PySpark, which is not installed with its jars folder"
        return None

    def open(self) -> Pair:
        """Compile, then start two Java processes."""
        # Once they are ready they have loaded all classes, and the folder may go.
        with tempfile.TemporaryDirectory(prefix="penstock-bench-") as classes:
            class_path = os.pathsep.join([classes, *map(str, _netty_jars())])
            _compile(class_path, classes)
            java = ("java", "-cp", class_path, "NettyEnd")
            return Pair.start(
                lambda: JavaEnd("Netty receiver", *java, "receiver"),
                lambda receiver: JavaEnd("Netty sender", *java, "sender", str(receiver.port)),
            )


class JavaEnd:
    """A Java process that is asked over its stdin and answers over its stdout."""

    def __init__(self, name: str, *command: str) -> None:
        """Start the process, in a session of its own: an interrupt at the terminal is for the parent to handle."""
        self._name = name
        self._buffered = b""
        self._process = subprocess.Popen(
            command, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )

    def ask(self, line: str) -> None:
        """Send one line."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line.encode() + b"\n")
        except OSError as error:
            msg = f"{self._name} does not take {line!r}: {error}"
            raise EndError(msg) from error

    def answer(self, timeout_s: float) -> Answer:
        """Wait for an answer; raise `EndError` if it is an error or does not come."""
        answer = msgspec.json.decode(self._read_line(timeout_s), type=Answer)
        if answer.error:
            msg = f"{self._name} failed: {answer.error}"
            raise EndError(msg)
        return answer

    def close(self) -> None:
        """End its stdin and see the process off; kill it if it does not leave."""
        with self._process as process:  # closes the pipes, and waits
            assert process.stdin is not None
            process.stdin.close()
            try:
                process.wait(_LEAVE_S)
            except subprocess.TimeoutExpired:
                process.kill()

    def _read_line(self, timeout_s: float) -> bytes:
        assert self._process.stdout is not None
        deadline = time.monotonic() + timeout_s
        while b"\n" not in self._buffered:
            ready, _, _ = select.select([self._process.stdout], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                msg = f"{self._name} did not answer within {timeout_s:g} s"
                raise EndError(msg)
            part = self._process.stdout.read(1 << 20)
            if not part:
                msg = f"{self._name} died, exit code {self._process.wait(_LEAVE_S)}"
                raise EndError(msg)
            self._buffered += part
        line, _, self._buffered = self._buffered.partition(b"\n")
        return line


def _netty_jars() -> list[Path]:
    pyspark = importlib.util.find_spec("pyspark")
    if pyspark is None or pyspark.origin is None:
        return []
    return sorted((Path(pyspark.origin).parent / "jars").glob("netty-*.jar"))


def _compile(class_path: str, classes: str) -> None:
    command = ("javac", "-cp", class_path, "-d", classes, str(_SOURCE))
    compiled = subprocess.run(command, capture_output=True, text=True, check=False)
    if compiled.returncode != 0:
        msg = f"javac refused {_SOURCE}: {compiled.stderr.strip()}"
        raise EndError(msg)
