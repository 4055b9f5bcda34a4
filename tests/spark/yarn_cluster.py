"""YARN for tests: a ResourceManager and two NodeManagers in one JVM; their containers are processes like any other.

The jars and the compiled main are put into `build/yarn` by `make cluster`.

Also a program: `python -m tests.spark.yarn_cluster FOLDER` starts one, and says the JVM's process id.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from xml.etree import ElementTree

import pyspark

from tests.ring.patience import wait_until

BUILT = Path(__file__).parents[2] / "build" / "yarn"
MAIN = "YarnForTests"
START_PATIENCE_S = 300.0
END_PATIENCE_S = 120.0
NODE_MANAGERS = 2

# What fits on a NodeManager: an executor and a driver or application master beside it, but never two executors. So an
# application with two executors has one on each.
_EXECUTOR_MIB = 512 + 768
_DRIVER_MIB = 512 + 512
_NODE_MIB = _EXECUTOR_MIB + _DRIVER_MIB + 128

_YARN_SETTINGS = {
    "yarn.minicluster.yarn.nodemanager.resource.memory-mb": _NODE_MIB,
    "yarn.scheduler.minimum-allocation-mb": 128,
    "yarn.scheduler.capacity.root.queues": "default",
    "yarn.scheduler.capacity.root.default.capacity": 100,
    "yarn.scheduler.capacity.maximum-am-resource-percent": 0.9,
    # A JVM reserves far more address space than it uses. What it does use is held to the size of the container.
    "yarn.nodemanager.vmem-check-enabled": "false",
    # In many a cluster containers have no home that they can write to.
    "yarn.nodemanager.user-home-dir": "/dev/null",
    "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": 99,
}
_LOOPBACK = "127.0.0.1"
_QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


class YarnCluster:
    """A YARN whose files are all in one folder, and which ends with this process at the latest."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.configuration = folder / "conf"
        self.configuration.mkdir(parents=True)
        settings = [f"{key}={value}" for key, value in _YARN_SETTINGS.items()]
        classes = os.pathsep.join([str(BUILT / "classes"), str(BUILT / "jars" / "*")])
        self._site = self.configuration / "yarn-site.xml"
        self._log = folder / "yarn.log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                ["java", "-Xmx512m", *_QUICK_JVM.split(), "-cp", classes, MAIN, str(self._site), *settings],
                cwd=folder,  # where its NodeManagers keep theirs
                stdin=subprocess.PIPE,  # its end is the end of YARN, also when this process is killed
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """That of the JVM."""
        return self._process.pid

    def await_start(self) -> None:
        wait_until(self._is_up, "YARN is up", patience_s=START_PATIENCE_S)

    def _is_up(self) -> bool:
        assert self._process.poll() is None, f"YARN has ended; {self._log} says:\n{self._log.read_text()[-5000:]}"
        return self._site.exists()

    @property
    def environment(self) -> dict[str, str]:
        """How a driver finds it."""
        return {"YARN_CONF_DIR": str(self.configuration), "SPARK_LOCAL_IP": _LOOPBACK}

    def spark_settings(self) -> dict[str, str]:
        """Two executors with room for two workers each, one on each NodeManager."""
        jars = Path(pyspark.__file__).parent / "jars"
        return {
            "spark.executor.instances": str(NODE_MANAGERS),
            "spark.executor.cores": "2",
            "spark.executor.memory": "512m",
            "spark.executor.memoryOverhead": "768m",
            "spark.driver.memory": "512m",
            "spark.driver.memoryOverhead": "512m",
            "spark.yarn.am.memory": "512m",
            "spark.executor.extraJavaOptions": _QUICK_JVM,
            "spark.yarn.am.extraJavaOptions": _QUICK_JVM,
            "spark.yarn.appMasterEnv.TMPDIR": str(self.folder),
            "spark.yarn.appMasterEnv.SPARK_LOCAL_IP": _LOOPBACK,
            "spark.executorEnv.SPARK_LOCAL_IP": _LOOPBACK,
            # Where a cluster has Spark on its nodes; else it is sent there, all 400 MB of it.
            "spark.yarn.jars": f"local:{jars}/*",
            "spark.yarn.stagingDir": (self.folder / "staging").as_uri(),
            "spark.yarn.maxAppAttempts": "1",
            "spark.scheduler.minRegisteredResourcesRatio": "1.0",
            "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
        }

    def applications(self) -> dict[str, tuple[str, str]]:
        """State and final status of each application that there was."""
        address = self._setting("yarn.resourcemanager.webapp.address")
        with urllib.request.urlopen(f"http://{address}/ws/v1/cluster/apps") as answer:
            apps: list[dict[str, Any]] = (json.load(answer)["apps"] or {}).get("app", [])
        return {app["id"]: (app["state"], app["finalStatus"]) for app in apps}

    @staticmethod
    def processes_of(application: str) -> list[int]:
        """Who has an application in its environment: what runs in its containers."""
        found = []
        for entry in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):  # it has just ended, or is another user's
                if application.removeprefix("application").encode() in entry.read_bytes():
                    found.append(int(entry.parent.name))
        return found

    def _setting(self, name: str) -> str:
        for entry in ElementTree.parse(self._site).iter("property"):
            if entry.findtext("name") == name:
                return entry.findtext("value") or ""
        raise KeyError(name)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(END_PATIENCE_S)
        finally:
            self._process.kill()
            self._process.wait()


if __name__ == "__main__":
    with YarnCluster(Path(sys.argv[1])) as started:
        print(started.pid, flush=True)
        sys.stdin.read()
