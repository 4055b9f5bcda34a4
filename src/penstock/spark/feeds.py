"""The spouts of a topology that Spark feeds, and what their queries need."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from penstock.connectors.streaming_frame import StreamingFrame
from penstock.errors import StartError, TopologyError
from penstock.spark.session import is_connect
from penstock.spark.session_settings import SessionSettings
from penstock.spark.streams import ensure_registered, spools_of
from penstock.topology.topology import Topology

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = [
    "feeds_of",
    "queries_beside",
    "require_computable",
    "require_feedable",
    "require_no_speculation",
    "require_own_checkpoints",
    "session_of_feeds",
]


log = logging.getLogger(__name__)

_IS_CHECKED = "spark.sql.streaming.unsupportedOperationCheck"


def feeds_of(topology: Topology) -> dict[str, StreamingFrame]:
    """The spouts that queries feed, by name."""
    return {spec.name: spec.logic for spec in topology.components.values() if isinstance(spec.logic, StreamingFrame)}


def require_own_checkpoints(topology: Topology) -> None:
    """TopologyError if two queries would share a checkpoint: Spark stops the one that was first."""
    owner: dict[str, str] = {}
    for name, frame in feeds_of(topology).items():
        other = owner.setdefault(frame.checkpoint, name)
        if other != name:
            message = f"StreamingFrame {name!r}: checkpoint: wanted one of its own, got that of {other!r}"
            raise TopologyError(message)


def require_computable(topology: Topology, spark: SparkSession) -> None:
    """StartError if Spark does not compute a frame in its output mode, such as sums that never end in append mode.

    Spark says so when a query starts, which is late: workers are there by then. A classic session can be asked before.
    """
    if is_connect(spark) or not SessionSettings(spark).flag(_IS_CHECKED, default=True):
        return
    from pyspark.errors import AnalysisException

    jvm = spark.sparkContext._jvm
    assert jvm is not None
    modes = jvm.org.apache.spark.sql.streaming.OutputMode
    for name, frame in feeds_of(topology).items():
        plan = frame.frame._jdf.queryExecution().analyzed()
        mode = modes.Complete() if frame.output_mode == "complete" else modes.Append()
        try:
            jvm.org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker.checkForStreaming(plan, mode)
        except AnalysisException as error:
            message = f"StreamingFrame {name!r}: its query cannot start in output mode {frame.output_mode!r}: {error}"
            raise StartError(message) from error
        except Exception as error:  # of many kinds: a Spark that has it elsewhere
            log.debug("whether Spark computes %r will be known when its query starts: %s", name, error)


def require_no_speculation(spark: SparkSession) -> None:
    """StartError if Spark may push the same rows twice at a time, because it finds those who push too slow."""
    if SessionSettings(spark).flag("spark.speculation"):
        message = (
            "exactly once, no StreamingFrame can feed a run while Spark starts second copies of slow tasks, which push "
            "the same rows: wanted spark.speculation=false, got true"
        )
        raise StartError(message)


def require_feedable(spark: SparkSession) -> None:
    """Readies a session for queries that feed runs; StartError if it cannot have any."""
    from penstock.spark.spark_version import require_version, sinks_take_batches

    if sinks_take_batches(spark):
        ensure_registered(spark)
    elif is_connect(spark):
        # Its `foreachBatch` runs on the server, and the jobs in it are not known to be the query's.
        require_version(spark, (4, 1), "StreamingFrame over Spark Connect", instead="use a session without Connect")


def queries_beside(topology: Topology) -> int:
    """How many slots the run must leave to queries: one for each that feeds it.

    And one for a query that reads its output, if it has any for Spark: when nobody reads that, the topology waits, and
    with it the query that feeds it, in a slot that the reader may need.
    """
    feeds = len(feeds_of(topology))
    return feeds + 1 if feeds and spools_of(topology) else feeds


def session_of_feeds(topology: Topology, spark: SparkSession | None) -> SparkSession | None:
    """The session that a run takes place in: the one given, which must be that of all streaming DataFrames."""
    for name, frame in feeds_of(topology).items():
        own = frame.frame.sparkSession
        if spark is not None and own is not spark:
            message = f"StreamingFrame {name!r}: wanted a DataFrame of the run's own session, got one of another"
            raise StartError(message)
        spark = own
    return spark
