"""A cluster in a box, and a session on it."""

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from typing import Any

from bench.progress import Progress
from penstock.devcluster import DevCluster, DevClusterSettings
from penstock.spark.slots import count_slots

_PATIENCE_S = 180.0
_QUIET = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}


@contextlib.contextmanager
def session_in_a_box(name: str, settings: DevClusterSettings, progress: Progress) -> Iterator[Any]:
    """A session on a cluster of its own; all executors have come."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with contextlib.ExitStack() as stack:
        with progress.stage("cluster in a box", 2) as step:
            step(f"starting {settings.nodes} nodes")
            cluster = stack.enter_context(DevCluster(settings))
            step("starting executors")
            builder = SparkSession.builder.appName(f"bench-{name}")
            for key, value in (cluster.spark_settings() | _QUIET).items():
                builder = builder.config(key, value)
            spark = builder.getOrCreate()
            stack.callback(spark.stop)
            _await_slots(spark, settings.nodes * settings.slots_per_node)
        yield spark


def _await_slots(spark: Any, count: int) -> None:
    deadline_s = time.monotonic() + _PATIENCE_S
    while (found := count_slots(spark).now) != count:
        if time.monotonic() > deadline_s:
            message = f"the cluster in a box has {found} slots after {_PATIENCE_S:g} s, wanted {count}"
            raise RuntimeError(message)
        time.sleep(0.1)
