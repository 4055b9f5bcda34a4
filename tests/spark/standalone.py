"""A real standalone cluster on this machine: a master, and two nodes with an address each."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyspark

from penstock.spark.node import NODE_VARIABLE

PATIENCE_S = 120.0
NODES = ("127.0.0.2", "127.0.0.3")
CORES_PER_NODE = 3
FAST_START = "-XX:TieredStopAtLevel=1"
"""For a JVM that lives for a minute, half the cost."""
_SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"


@contextlib.contextmanager
def standalone_cluster(folder: Path) -> Iterator[str]:
    """Starts it, and gives the master's address. Its nodes take themselves for different machines."""
    with contextlib.ExitStack() as daemons:
        log = daemons.enter_context(
            _daemon(
                folder / "master",
                ["org.apache.spark.deploy.master.Master", "--host", "127.0.0.1"],
                {"SPARK_LOCAL_IP": "127.0.0.1"},
            )
        )
        master = _await(log, r"Starting Spark master at (spark://\S+)")[1]
        for number, address in enumerate(NODES):
            command = ["org.apache.spark.deploy.worker.Worker", "--host", address, "--cores", str(CORES_PER_NODE)]
            command += ["--memory", "1g", "--work-dir", str(folder / f"work-{number}"), master]
            identity = {"SPARK_LOCAL_IP": address, NODE_VARIABLE: f"node-{number}"}
            log = daemons.enter_context(_daemon(folder / f"node-{number}", command, identity))
            _await(log, r"Successfully registered with master")
        yield master


@contextlib.contextmanager
def _daemon(log: Path, command: list[str], environment: dict[str, str]) -> Iterator[Path]:
    settings = {"SPARK_DAEMON_MEMORY": "256m", "SPARK_DAEMON_JAVA_OPTS": FAST_START, "PYSPARK_PYTHON": sys.executable}
    with log.open("wb") as target:
        process = subprocess.Popen(
            [_SPARK_CLASS, *command, "--port", "0", "--webui-port", "0"],
            stdin=subprocess.DEVNULL,
            stdout=target,
            stderr=subprocess.STDOUT,
            env=os.environ | settings | environment,
            cwd=log.parent,
        )
    try:
        yield log
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _await(log: Path, pattern: str) -> re.Match[str]:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        if found := re.search(pattern, log.read_text(errors="replace")):
            return found
        assert time.monotonic() < deadline, f"{pattern!r} did not appear in {log}:\n{log.read_text(errors='replace')}"
        time.sleep(0.05)
