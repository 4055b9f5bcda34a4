"""Penstock: low-latency, record-at-a-time stream topologies in Python, on the Spark cluster you already have.

This module is the public door: everything a user needs is in `__all__`. Nothing in the package imports it. What is
behind it is imported when it is asked for: a worker, of which there are many, needs little of it.
"""

import importlib
from typing import TYPE_CHECKING, Any

from penstock.version import __version__

if TYPE_CHECKING:
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

_HOMES = {
    "Collect": "penstock.connectors.collect",
    "FromFrame": "penstock.connectors.from_frame",
    "Lines": "penstock.connectors.lines",
    "ParquetSink": "penstock.connectors.parquet_sink",
    "Rate": "penstock.connectors.rate",
    "SparkStream": "penstock.connectors.spark_stream",
    "StreamingFrame": "penstock.connectors.streaming_frame",
    "TextFiles": "penstock.connectors.text_files",
    "CheckpointError": "penstock.errors",
    "PenstockError": "penstock.errors",
    "RunError": "penstock.errors",
    "SlotsError": "penstock.errors",
    "StartError": "penstock.errors",
    "TopologyError": "penstock.errors",
    "Run": "penstock.spark.run",
    "run": "penstock.spark.run",
    "start": "penstock.spark.run",
    "local_session": "penstock.spark.session",
    "register": "penstock.spark.streams",
    "Summary": "penstock.spark.summary",
    "transform": "penstock.spark.transform",
    "BatchBolt": "penstock.topology.bolts",
    "Bolt": "penstock.topology.bolts",
    "KeyedBolt": "penstock.topology.bolts",
    "StatefulBolt": "penstock.topology.bolts",
    "TaskContext": "penstock.topology.context",
    "Emit": "penstock.topology.emit",
    "Spout": "penstock.topology.spouts",
    "Topology": "penstock.topology.topology",
    "TransactionalSink": "penstock.topology.transactional",
    "Tuple": "penstock.topology.tuples",
}


if not TYPE_CHECKING:  # or type checkers would take every name for one of ours

    def __getattr__(name: str) -> Any:
        home = _HOMES.get(name)
        if home is None:
            message = f"module 'penstock' has no attribute {name!r}"
            raise AttributeError(message)
        value = getattr(importlib.import_module(home), name)
        globals()[name] = value  # asked for once
        return value


def __dir__() -> list[str]:
    return __all__
