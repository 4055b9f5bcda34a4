"""A topology as a function from DataFrames to a DataFrame, run inside one Spark job."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.connectors.column_types import Column
from penstock.connectors.from_frame import why_no_dataframe
from penstock.errors import StartError, TopologyError
from penstock.spark.frame_input import FrameSpout
from penstock.spark.frame_output import Farewell, FrameOutput
from penstock.spark.frame_partitions import in_partitions
from penstock.spark.frame_union import quoted, union_of
from penstock.spark.packed_rows import exchanged, packed_schema
from penstock.spark.session import spare_slots
from penstock.spark.session_settings import SessionSettings
from penstock.spark.slots import count_slots, workers_by_default, workers_to_ask_for
from penstock.spark.transform_ticket import TransformTicket
from penstock.topology.emit import DEFAULT_STREAM
from penstock.topology.groupings import Broadcast, LocalOrShuffle
from penstock.topology.part import part_of, with_bolt
from penstock.topology.shipping import to_bytes
from penstock.topology.spec import ComponentSpec, Subscription
from penstock.topology.topology import Topology, require_topology
from penstock.transport.links import LinkKeys
from penstock.version import __version__
from penstock.worker.settings import WorkerSettings

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

__all__ = ["transform"]

_WORKERS_IF_UNKNOWN = 2

# If an executor is lost with output that was read in part, the stage runs anew, and may share its rows out otherwise.
# By these Spark sees that, and starts the readers anew or fails. Without them, rows could be missing or there twice.
_GUARDS = (
    "spark.sql.shuffle.orderIndependentChecksum.enabled",
    "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch",
)


def transform(
    topology: Topology,
    inputs: Mapping[str, DataFrame],
    *,
    output: str,
    schema: str | StructType,
    workers: int | None = None,
) -> DataFrame:
    """A topology as a DataFrame function: lazy, and any other operation can stand before and behind it.

    The rows of each DataFrame take the place of a spout's tuples, and what `output` emits becomes the rows of the
    result. Only what `output` depends on runs. When the result is evaluated, all workers are tasks of one barrier
    stage: it succeeds whole, or Spark starts it anew whole, so that each evaluation gives its answer once. An exception
    in a spout or bolt is not counted and passed over, as in a run, but fails the stage.

    Args:
        topology: what to run. What `output` depends on is checked here and now; the rest is not looked at.
        inputs: a DataFrame for each of these spouts. Its columns of the names of the spout's fields are taken. Worker
            `n` reads the DataFrame's partition `n`, and every `workers`-th after it.
        output: the component whose own stream becomes the result.
        schema: the columns of the result, named as the fields of `output`, as DDL or a StructType. A value that does
            not fit is an error.
        workers: how many tasks the stage has, and so how many slots it needs at once; by default one for each slot that
            Spark has free and the topology has a task for.

    Raises:
        TopologyError: the topology cannot run, or its spouts do not fit the DataFrames, or its output the schema.
        SlotsError: Spark has fewer slots than workers are asked for.
        StartError: the session cannot run barrier stages, or has a guard switched off that they need.
    """
    _require_mapping(inputs)
    part = _fed(topology, inputs, output)
    session = _session_of(inputs)
    declared = session.createDataFrame([], schema).schema if isinstance(schema, str) else schema
    columns = _columns(declared, output, part)
    count = _workers(session, topology, part, workers)
    _require_barriers(session)
    _require_guards(session)

    def for_each_worker(spec: ComponentSpec) -> ComponentSpec:
        return msgspec.structs.replace(spec, tasks=count) if spec.name in inputs else spec

    whole = part_of(part, ends=[output], changed=for_each_worker)
    for sink in _sinks(output, columns, count):
        whole = with_bolt(whole, sink)
    ticket = TransformTicket(
        topology=to_bytes(whole),
        inputs=tuple(inputs),
        workers=count,
        keys=LinkKeys.make(),
        settings=WorkerSettings(delivery="at_most_once"),
    )
    taken = [
        frame.select(*map(quoted, part.components[name].streams[DEFAULT_STREAM])) for name, frame in inputs.items()
    ]
    rows = in_partitions(union_of(taken), count)
    task = _task(msgspec.msgpack.encode(ticket), __version__, name=secrets.token_hex(8))
    made = rows.mapInArrow(task, packed_schema(declared), barrier=True)
    # Behind a barrier stage Spark refuses whatever looks at some of the partitions only, such as show() and take().
    return exchanged(made, count)


def _require_mapping(inputs: object) -> None:
    if not isinstance(inputs, Mapping):
        message = f"inputs: wanted a dict from the names of spouts to DataFrames, got a {type(inputs).__name__}"
        raise TopologyError(message)


def _fed(topology: Topology, inputs: Mapping[str, DataFrame], output: str) -> Topology:
    """What the output depends on, with a `FrameSpout` in the place of each spout that is fed; checked."""
    require_topology(topology)
    components = topology.components
    if output not in components:
        message = f"output: wanted a component of topology {topology.name!r} ({_listed(components)}), got {output!r}"
        raise TopologyError(message)
    part = part_of(topology, ends=[output], changed=lambda spec: _replaced(spec, inputs))
    for name, frame in inputs.items():
        if name not in part.components:
            there = [spec.name for spec in part.components.values() if spec.kind == "spout"]
            message = f"inputs: wanted spouts that {output!r} depends on ({_listed(there)}), got {name!r}"
            raise TopologyError(message)
        _require_table(part.components[name], frame)
    if not inputs:
        message = f"inputs: wanted a DataFrame for at least one spout that {output!r} depends on, got none"
        raise TopologyError(message)
    part.check()
    return part


def _replaced(spec: ComponentSpec, inputs: Mapping[str, DataFrame]) -> ComponentSpec:
    if spec.name not in inputs:
        return spec
    if spec.kind != "spout" or DEFAULT_STREAM not in spec.streams:
        message = f"inputs: wanted a spout with fields, got {spec.name!r}, a {spec.kind} with {_listed(spec.streams)}"
        raise TopologyError(message)
    streams = {DEFAULT_STREAM: spec.streams[DEFAULT_STREAM]}
    return msgspec.structs.replace(spec, logic=FrameSpout(spec.name), streams=streams)


def _require_table(spec: ComponentSpec, frame: DataFrame) -> None:
    complaint = why_no_dataframe(frame)
    if complaint is not None:
        message = f"inputs[{spec.name!r}]: wanted a DataFrame, {complaint}"
        raise TopologyError(message)
    if frame.isStreaming:
        message = f"inputs[{spec.name!r}]: wanted a table, got a streaming DataFrame; ps.StreamingFrame takes streams"
        raise TopologyError(message)
    fields = spec.streams[DEFAULT_STREAM]
    missing = [field for field in fields if frame.columns.count(field) != 1]
    if missing:
        message = (
            f"inputs[{spec.name!r}]: wanted a DataFrame with one column for each field of the spout "
            f"({_listed(fields)}), got {_listed(frame.columns)}"
        )
        raise TopologyError(message)


def _session_of(inputs: Mapping[str, DataFrame]) -> SparkSession:
    first, *others = (frame.sparkSession for frame in inputs.values())
    if any(other is not first for other in others):
        message = "inputs: wanted DataFrames of one session, got some of several"
        raise StartError(message)
    return first


def _columns(declared: StructType, output: str, part: Topology) -> list[Column]:
    from penstock.spark.spark_version import arrow_schema_of

    fields = part.components[output].streams.get(DEFAULT_STREAM, ())
    if tuple(declared.names) != fields:
        message = f"schema: wanted the columns that {output!r} emits ({_listed(fields)}), got {_listed(declared.names)}"
        raise TopologyError(message)
    return [
        Column(
            name=field.name,
            type=arrow,
            declared=field.dataType.simpleString() + ("" if field.nullable else " not null"),
            nullable=field.nullable,
        )
        for field, arrow in zip(declared.fields, arrow_schema_of(declared).types, strict=True)
    ]


def _workers(session: SparkSession, topology: Topology, part: Topology, workers: int | None) -> int:
    slots = count_slots(session)
    if workers is None:
        # A spout that is fed has a task for each worker, so what it was declared with says how many are of use.
        tasks = sum(topology.components[name].tasks for name in part.components)
        workers = workers_by_default(slots, tasks=tasks, spare=spare_slots(session), unknown=_WORKERS_IF_UNKNOWN)
    if workers < 1:
        message = f"workers must be at least 1, got {workers}"
        raise ValueError(message)
    return workers_to_ask_for(slots, workers=workers, min_workers=None)


def _require_barriers(session: SparkSession) -> None:
    if SessionSettings(session).flag("spark.dynamicAllocation.enabled"):
        message = (
            "a transform is a barrier stage, which Spark refuses while executors are allocated dynamically: wanted "
            "spark.dynamicAllocation.enabled=false, got true"
        )
        raise StartError(message)


def _require_guards(session: SparkSession) -> None:
    from penstock.spark.spark_version import require_version, version_of

    settings = SessionSettings(session)
    if version_of(session) < (4, 2) and re.match(r"local(\[|$)", settings.text("spark.master")):
        return  # the guards are missing, or off by default, and not needed: the executor is lost only with its driver
    require_version(
        session,
        (4, 1),
        "a transform on a cluster",
        instead="when an executor is lost, older ones may mix the rows of two attempts, and the answer is wrong",
    )
    on_by_default = version_of(session) >= (4, 2)
    for guard in _GUARDS:
        if not settings.flag(guard, default=on_by_default):
            message = f"a transform could give a wrong answer when an executor is lost: wanted {guard}=true, got false"
            raise StartError(message)


def _sinks(output: str, columns: list[Column], workers: int) -> Iterator[ComponentSpec]:
    """On each worker one, so that nothing travels on its way out. Their names are such as no component can have."""
    out = f"{output} → Spark"
    yield ComponentSpec(
        name=out,
        kind="bolt",
        logic=FrameOutput(output, columns),
        tasks=workers,
        streams={DEFAULT_STREAM: FrameOutput.fields},
        inputs=(Subscription(output, DEFAULT_STREAM, LocalOrShuffle()),),
    )
    yield ComponentSpec(
        name=f"{out}, farewell",
        kind="bolt",
        logic=Farewell(),
        tasks=workers,
        streams={},
        inputs=(Subscription(out, DEFAULT_STREAM, Broadcast("flat")),),
    )


def _listed(names: Any) -> str:
    return ", ".join(map(repr, names)) or "none"


def _task(ticket: bytes, version: str, name: str) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What Spark runs on the executors. Shipped by value, with nothing of ours in it (see penstock.spark.launch).

    Spark cannot know that an exception of user code will be raised again, and tries a stage that has failed some times.
    So an attempt in which user code has raised leaves word of it on its executors, and the next fails there by the same
    error, before it has read a row or imported anything.
    """

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        import os
        import sys
        import tempfile
        from pathlib import Path

        from pyspark import TaskContext

        # A folder of the executor, which Spark removes with it. An evaluation has a stage of its own.
        folder = os.environ.get("SPARK_LOCAL_DIRS", tempfile.gettempdir()).split(",")[0]
        context: Any = TaskContext.get()
        failed = Path(folder, f"penstock-{name}-stage-{context.stageId()}-failed")
        if failed.exists():
            raise RuntimeError(failed.read_text(encoding="utf-8"))
        try:
            from penstock.spark.barrier_worker import serve_transform
            from penstock.version import __version__
        except ImportError as error:
            message = f"Penstock {version} cannot be imported on this executor ({sys.executable}): install it there"
            raise ImportError(message) from error
        if __version__ != version:
            message = f"this executor has Penstock {__version__}, and the driver {version}: install the same on both"
            raise ImportError(message)
        yield from serve_transform(ticket, batches, failed)

    return work
