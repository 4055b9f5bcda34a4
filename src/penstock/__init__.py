"""Penstock: low-latency, record-at-a-time stream topologies in Python, on the Spark cluster you already have.

This module is the public door: everything a user needs is in `__all__`. Nothing in the package imports it.
"""

from penstock.connectors.collect import Collect
from penstock.connectors.from_frame import FromFrame
from penstock.connectors.lines import Lines
from penstock.connectors.parquet_sink import ParquetSink
from penstock.connectors.rate import Rate
from penstock.connectors.spark_stream import SparkStream
from penstock.connectors.streaming_frame import StreamingFrame
from penstock.connectors.text_files import TextFiles
from penstock.errors import CheckpointError, PenstockError, RunError, SlotsError, StartError, TopologyError
from penstock.spark.run import Run, run, start
from penstock.spark.session import local_session
from penstock.spark.streams import register
from penstock.spark.summary import Summary
from penstock.spark.transform import transform
from penstock.topology.bolts import BatchBolt, Bolt, KeyedBolt, StatefulBolt
from penstock.topology.context import TaskContext
from penstock.topology.emit import Emit
from penstock.topology.spouts import Spout
from penstock.topology.topology import Topology
from penstock.topology.transactional import TransactionalSink
from penstock.topology.tuples import Tuple
from penstock.version import __version__

__all__ = [
    "BatchBolt",
    "Bolt",
    "CheckpointError",
    "Collect",
    "Emit",
    "FromFrame",
    "KeyedBolt",
    "Lines",
    "ParquetSink",
    "PenstockError",
    "Rate",
    "Run",
    "RunError",
    "SlotsError",
    "SparkStream",
    "Spout",
    "StartError",
    "StatefulBolt",
    "StreamingFrame",
    "Summary",
    "TaskContext",
    "TextFiles",
    "Topology",
    "TopologyError",
    "TransactionalSink",
    "Tuple",
    "__version__",
    "local_session",
    "register",
    "run",
    "start",
    "transform",
]


def __dir__() -> list[str]:
    return __all__
