"""Where the versions of Spark differ: 3.5 is the oldest that Penstock runs on.

Each difference names the version that ends it, so that it can go when that version is the oldest. It is imported only
where PySpark is needed anyway.

| since | what | before |
|---|---|---|
| 4.0 | Python data sources | `format("penstock")` is refused |
| 4.0 | Java 17 | Java 8 |
| 4.0 | any Python from 3.11 on | from 3.12 on only with `setuptools`, which has the `distutils` that it imports |
| 4.0 | errors have conditions | classes, which are the same |
| 4.0 | threads inherit the tags of a session | those of its SparkContext, which are all that a classic one has |
| 4.1 | `repartitionById` | `repartition`, by keys that Spark's hash sends to the right partitions |
| 4.1 | checksums of shuffles, whatever the order of their rows | a transform on a cluster is refused |
| 4.1 | sinks of record batches | `foreachBatch` |
| 4.2 | those checksums are on by default | a transform on a cluster wants them switched on |
| 4.2 | sources are told how much to read | `maxFilesPerTrigger` and `maxBytesPerTrigger` are refused |
| 4.2 | sources may know of `availableNow` | to Spark it is one micro-batch |
"""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING

import pyspark

from penstock.errors import StartError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.errors import PySparkException
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

__all__ = [
    "HERE",
    "arrow_schema_of",
    "condition_of",
    "inheriting",
    "lacks_distutils",
    "oldest_java",
    "repartitioned_by_id",
    "require_version",
    "sinks_take_batches",
    "supports_pandas",
    "version_of",
]

Version = tuple[int, int]


def _parsed(text: str) -> Version:
    major, minor = text.split(".")[:2]
    return int(major), int(minor)


HERE: Version = _parsed(pyspark.__version__)
"""Of PySpark in this process: the driver's, or an executor's."""


def version_of(spark: SparkSession) -> Version:
    """What a session can do: over Spark Connect, its server may be older or newer than PySpark here."""
    return min(HERE, _parsed(spark.version))


def require_version(spark: SparkSession | None, since: Version, what: str, *, instead: str) -> None:
    """StartError if a session, or PySpark where there is none yet, is older than `what` needs."""
    found = min([pyspark.__version__, *([] if spark is None else [spark.version])], key=_parsed)
    if _parsed(found) < since:
        message = f"{what} needs Spark {since[0]}.{since[1]} or newer, got {found}: {instead}"
        raise StartError(message)


def lacks_distutils() -> bool:
    """Whether every job in Python would fail: Spark 3.5 imports a module that Python has had until 3.11."""
    return HERE < (4, 0) and importlib.util.find_spec("distutils") is None


def oldest_java() -> int:
    """The oldest Java that a session of PySpark's own can run on."""
    return 8 if HERE < (4, 0) else 17


def supports_pandas(version: str) -> bool:
    """Whether Spark's own pandas functions work with it: no Spark up to 4.3 supports pandas 3."""
    return HERE > (4, 3) or int(version.partition(".")[0]) < 3


def sinks_take_batches(spark: SparkSession) -> bool:
    """Whether a sink in Python can take the record batches of a streaming query; else `foreachBatch` has to."""
    return version_of(spark) >= (4, 1)


def inheriting(spark: SparkSession, target: Callable[..., None]) -> Callable[..., None]:
    """What a thread is to run so that its jobs have the scheduler pool, job group and tags of this thread."""
    from pyspark.util import inheritable_thread_target

    # Since 4.0 it takes the session, and warns without it.
    wrapped: Callable[..., None] = (
        inheritable_thread_target(target) if HERE < (4, 0) else inheritable_thread_target(spark)(target)
    )
    return wrapped


def condition_of(error: PySparkException) -> str | None:
    """Which of Spark's conditions an error has. Until 4.0 they were called classes."""
    found: str | None = error.getErrorClass() if HERE < (4, 0) else error.getCondition()
    return found


def arrow_schema_of(schema: StructType) -> pa.Schema:
    """The schema that Spark wants record batches in. Timestamps are in UTC, also where it could be told otherwise."""
    from pyspark.sql.pandas.types import to_arrow_schema

    zoned = "timezone" in inspect.signature(to_arrow_schema).parameters
    return to_arrow_schema(schema, timezone="UTC") if zoned else to_arrow_schema(schema)


def repartitioned_by_id(frame: DataFrame, partitions: int, column: str) -> DataFrame:
    """Rows in the partitions whose numbers are in a column, modulo how many there are."""
    if version_of(frame.sparkSession) >= (4, 1):
        return frame.repartitionById(partitions, column)
    from pyspark.sql.functions import expr

    keys = ", ".join(map(str, _keys_of_partitions(partitions)))
    return frame.repartition(partitions, expr(f"element_at(array({keys}), pmod({column}, {partitions}) + 1)"))


def _keys_of_partitions(partitions: int) -> list[int]:
    """For each partition the least int that `repartition` sends there."""
    found: dict[int, int] = {}
    key = 0
    while len(found) < partitions:
        found.setdefault(_hash_of_int(key) % partitions, key)
        key += 1
    return [found[partition] for partition in range(partitions)]


def _hash_of_int(value: int) -> int:
    """What Spark's ``hash`` gives for an int: Murmur3 with seed 42, signed."""
    mixed = value * 0xCC9E2D51 & 0xFFFFFFFF
    mixed = _rotated(mixed, 15) * 0x1B873593 & 0xFFFFFFFF
    state = _rotated(42 ^ mixed, 13) * 5 + 0xE6546B64 & 0xFFFFFFFF
    state ^= 4  # bytes
    state = (state ^ state >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    state = (state ^ state >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    state ^= state >> 16
    return state - (1 << 32) if state >> 31 else state


def _rotated(value: int, bits: int) -> int:
    return (value << bits | value >> 32 - bits) & 0xFFFFFFFF
