"""The Spark that all of them run in: two slots, and else as Spark comes."""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from pyspark.sql import SparkSession

SLOTS = 2

_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.driver.memory": "4g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # 200 would be for a cluster: here they are more work for whoever exchanges rows.
    "spark.sql.shuffle.partitions": str(SLOTS),
    # transformWithState runs on no other, and the running counts are to differ in nothing else.
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
}


@contextlib.contextmanager
def two_slots() -> Iterator[SparkSession]:
    """A session of our own. Not one of Penstock's, whose JVM is made to start fast, and not to run fast."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(str(Path(place).resolve()) for place in sys.path)
    builder = SparkSession.builder.appName("bench frames").master(f"local[{SLOTS},4]")
    for key, value in _SETTINGS.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()
