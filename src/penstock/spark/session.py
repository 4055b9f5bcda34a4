"""The Spark session that a run takes place in: the user's, or one of our own that ends with the run."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.errors import StartError
from penstock.spark.interrupts import held_interrupts
from penstock.spark.java import require_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["active_session", "borrowed_session", "is_alive", "is_connect", "local_session", "spare_slots"]

# For the user's own jobs beside the workers, such as a DataFrame that feeds a spout.
SPARE_SLOTS = 2
_SPARE_SLOTS_KEY = "spark.penstock.spareSlots"
# Plain `local[N]` does not retry a task. This is what clusters do by default.
TASK_FAILURES = 4

# A cluster's address may be given from outside: by spark-submit, or for Spark Connect.
_GIVEN_FROM_OUTSIDE = ("PYSPARK_GATEWAY_PORT", "SPARK_REMOTE")


def is_connect(spark: SparkSession) -> bool:
    """Whether a session speaks Spark Connect, and so has no SparkContext."""
    return type(spark).__module__.startswith("pyspark.sql.connect.")


def is_alive(spark: SparkSession) -> bool:
    """Whether a session can still start jobs."""
    try:
        if is_connect(spark):
            spark.conf.get("spark.app.id", "")  # asks the server
        else:
            _ = spark.sparkContext.defaultParallelism  # asks the JVM, which refuses when the context was stopped
    except Exception:  # of many kinds: the context has let go of the JVM, the JVM is gone, the server forgot us
        return False
    return True


def active_session() -> SparkSession | None:
    """The session that this thread, or this process, works with; None if there is none."""
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    try:
        return SparkSession.active()
    except PySparkException:  # there is none: Spark has no way to ask without that
        return None


def local_session(*, workers: int) -> SparkSession:
    """An embedded local Spark, with a slot for each of so many workers and two more for queries beside them.

    For who has to have a session before there is a run: to make a streaming DataFrame, or to read a table. It is like
    the one that ``ps.run`` starts where there is none, and ends with the process, or with its ``stop()``. If a session
    is active already, that one is returned as it is.
    """
    if workers < 1:
        message = f"workers must be at least 1, got {workers}"
        raise ValueError(message)
    return active_session() or _start(None, workers)


def spare_slots(spark: SparkSession) -> int:
    """How many slots of a session are not meant for workers: some of a local one of our own."""
    return int(spark.conf.get(_SPARE_SLOTS_KEY, "0") or 0)


@contextlib.contextmanager
def borrowed_session(
    spark: SparkSession | None = None, *, master: str | None = None, workers: int
) -> Iterator[SparkSession]:
    """A session for as long as it is needed: the one given, or the active one, or one of our own.

    Args:
        spark: a session; it is used as it is, and stays.
        master: the address of a cluster, such as ``spark://host:7077`` or ``sc://host``, to make a session of our own
            on. Without it our own session is a local one.
        workers: how many workers a local session has to have room for.
    """
    found = _OwnSession.borrow(spark, master, workers)
    try:
        yield found
    finally:
        _OwnSession.give_back(found)


class _OwnSession:
    """The session that we started, if any. A second run may borrow it too, so the last one to leave stops it."""

    _lock = threading.Lock()
    _session: SparkSession | None = None
    _borrowers = 0

    @classmethod
    def borrow(cls, spark: SparkSession | None, master: str | None, workers: int) -> SparkSession:
        with cls._lock:
            found = spark or active_session()
            if found is None:
                found = cls._session = cls._started(master, workers)
                cls._borrowers = 0
            elif spark is None and master is not None and found.conf.get("spark.master", "") != master:
                message = (
                    f"wanted a session on {master}, and one on {found.conf.get('spark.master', 'another address')} is "
                    f"active: a process has one at a time"
                )
                raise StartError(message)
            if found is cls._session:
                cls._borrowers += 1
            return found

    @staticmethod
    def _started(master: str | None, workers: int) -> SparkSession:
        started = None
        try:
            with held_interrupts():
                started = _start(master, workers)
        except KeyboardInterrupt:
            started = started or active_session()
            if started is not None:
                started.stop()
            raise
        assert started is not None
        return started

    @classmethod
    def give_back(cls, session: SparkSession) -> None:
        with cls._lock:
            if cls._session is None or session is not cls._session:
                return
            cls._borrowers -= 1
            if cls._borrowers == 0:
                cls._session = None
                with contextlib.suppress(Exception):  # its JVM is gone: runs have failed of that, and say so
                    session.stop()


def _start(master: str | None, workers: int) -> SparkSession:
    from pyspark.sql import SparkSession

    builder: Any = SparkSession.builder.appName("penstock")
    if master is not None and master.startswith("sc://"):
        return builder.remote(master).getOrCreate()
    if master is None and any(name in os.environ for name in _GIVEN_FROM_OUTSIDE):
        return builder.getOrCreate()
    require_java()
    if master is not None and not master.startswith("local"):
        return _with(builder.master(master), _SETTINGS | {"spark.driver.extraJavaOptions": _QUIET}).getOrCreate()
    if master is None:
        master = f"local[{workers + SPARE_SLOTS},{TASK_FAILURES}]"
        builder = builder.config(_SPARE_SLOTS_KEY, str(SPARE_SLOTS))
    builder = builder.master(master)
    with _same_python():
        return _with(builder, _SETTINGS | _local_settings()).getOrCreate()


def _with(builder: Any, settings: dict[str, str]) -> Any:
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder


_QUIET = f'"-Dlog4j2.configurationFile={Path(__file__).with_name("log4j2.properties")}"'

_SETTINGS = {
    "spark.ui.showConsoleProgress": "false",
    # A worker that crashes in native code leaves a Python traceback.
    "spark.python.worker.faulthandler.enabled": "true",
}


def _local_settings() -> dict[str, str]:
    return {
        # A JVM that does little but start workers. To compile its code in two stages, as it would, is most of what its
        # start costs, and takes the cores from the workers.
        "spark.driver.extraJavaOptions": f"{_QUIET} -XX:TieredStopAtLevel=1",
        "spark.ui.enabled": "false",  # no port to fight for
        # Nobody else has to reach this driver, and a laptop's name may resolve to nothing, or to yesterday's network.
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        # Workers find what the driver finds: the script's own folder, for one.
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(str(Path(place).resolve()) for place in sys.path),
    }


@contextlib.contextmanager
def _same_python() -> Iterator[None]:
    """Local workers run on the driver's Python. Spark's default is whatever `python3` is on the PATH."""
    if "PYSPARK_PYTHON" in os.environ:
        yield
        return
    os.environ["PYSPARK_PYTHON"] = sys.executable
    try:
        yield
    finally:
        del os.environ["PYSPARK_PYTHON"]
