"""Spark's own processes: the master, and one for each node, which starts executors there."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from penstock.devcluster.settings import DevClusterSettings
from penstock.errors import DevClusterError

__all__ = ["EXECUTOR_CLASS", "FAST_START", "Daemon", "daemon_environment", "master_command", "worker_command"]

FAST_START = "-XX:TieredStopAtLevel=1 -XX:-UsePerfData"
"""For a JVM that lives for minutes: half the cost of its start, and no file in /tmp that outlives it."""

EXECUTOR_CLASS = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
"""What an executor's JVM runs."""

_MASTER_PORT = 7077
_LOOK_EVERY_S = 0.05
_TAIL_LINES = 15


def master_command(address: str) -> list[str]:
    """What starts the master. If its port is taken, Spark tries the next ones."""
    place = ["--host", address, "--port", str(_MASTER_PORT), "--webui-port", "0"]
    return [_spark_class(), "org.apache.spark.deploy.master.Master", *place]


def worker_command(address: str, master_url: str, work_folder: Path, settings: DevClusterSettings) -> list[str]:
    """What starts a node's own process."""
    place = ["--host", address, "--port", "0", "--webui-port", "0", "--work-dir", str(work_folder)]
    # Room for two executors, because that of a driver that was killed leaves some time after the next one's comes.
    size = ["--cores", str(settings.slots_per_node), "--memory", f"{2 * settings.executor_memory_mib}m"]
    return [_spark_class(), "org.apache.spark.deploy.worker.Worker", *place, *size, master_url]


def daemon_environment(settings: DevClusterSettings, *, temporary: Path, configuration: Path) -> dict[str, str]:
    """What Spark's processes are told, and by inheritance the executors and their Python."""
    options = [
        *FAST_START.split(),
        f"-Djava.io.tmpdir={temporary}",
        f"-Dspark.worker.timeout={max(1, round(settings.lost_after_s))}",
        # Nodes are killed here on purpose: an application is not to blame for executors that die.
        "-Dspark.deploy.maxExecutorRetries=-1",
    ]
    return {
        "SPARK_HOME": str(_spark_home()),
        "SPARK_CONF_DIR": str(configuration),  # and not one that the user has for another cluster
        "SPARK_DAEMON_MEMORY": f"{settings.daemon_memory_mib}m",
        "SPARK_DAEMON_JAVA_OPTS": " ".join(options),
        "SPARK_LAUNCHER_OPTS": FAST_START,
        "SPARK_LOCAL_DIRS": str(temporary),
        # A driver that names no Python gets `python3` of the nodes' PATH: it should be the one that has Penstock.
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
    }


def _spark_class() -> str:
    return str(_spark_home() / "bin" / "spark-class")


def _spark_home() -> Path:
    """The Spark that comes with PySpark, found without importing it: that takes a while, and is not needed."""
    found = importlib.util.find_spec("pyspark")
    assert found is not None, "Penstock depends on PySpark"
    assert found.origin is not None, f"PySpark is a package with a file, got {found}"
    return Path(found.origin).parent


class Daemon:
    """One of Spark's processes, a child of this one."""

    def __init__(self, name: str, command: Sequence[str], environment: dict[str, str], log: Path) -> None:
        self.name = name
        self.log = log
        with log.open("wb") as target:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=target,
                stderr=subprocess.STDOUT,
                env=os.environ | environment,
                cwd=log.parent,
                start_new_session=True,  # Ctrl-C is for us, who end it in good order
            )

    @property
    def lives(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def await_line(self, pattern: str, timeout_s: float) -> re.Match[str]:
        """Returns when its log says so. DevClusterError has the end of the log if it does not."""
        deadline_s = time.monotonic() + timeout_s
        while True:
            lives = self.lives  # asked first: what it said before it ended is in the log
            said = self.log.read_text(errors="replace")
            if found := re.search(pattern, said):
                return found
            if not lives or time.monotonic() > deadline_s:
                what = f"was not up within {timeout_s:g} s" if lives else f"ended with {self._process.returncode}"
                tail = "\n  ".join(said.splitlines()[-_TAIL_LINES:])
                message = f"{self.name} {what}; {self.log} ends with:\n  {tail}"
                raise DevClusterError(message)
            time.sleep(_LOOK_EVERY_S)

    def reap(self) -> None:
        """Kills it if it still lives, and takes notice of its end."""
        self._process.kill()
        self._process.wait()
