"""The streams of a run that Spark can read, and how it gets to know of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from penstock.connectors.folder import absolute, without_secrets
from penstock.connectors.spark_stream import SparkStream
from penstock.control.registry import RunDirectory
from penstock.errors import RunError
from penstock.topology.topology import Topology

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["ensure_registered", "most_per_trigger", "register", "require_readable", "spool_url", "spools_of"]

_REGISTERED = "spark.penstock.registered"

_LIMITS = ("maxFilesPerTrigger", "maxBytesPerTrigger")
"""As Spark's own sources of files call them."""

_KNOWN = ("path", "run", "stream", *(name.lower() for name in _LIMITS))  # options come in lower case


def register(spark: SparkSession) -> None:
    """Teaches a session the format ``penstock``, so that it can read streams.

    `ps.start` and `ps.run` do that by themselves for the session that they use, if the topology has a `SparkStream` or
    a `StreamingFrame`. A session of Spark 3.5 cannot learn it.

    Raises:
        StartError: the session's Spark is older than 4.0.
    """
    require_readable(spark)
    from penstock.spark.stream_source import PenstockSource  # it needs PySpark when it is imported

    spark.dataSource.register(PenstockSource)
    spark.conf.set(_REGISTERED, "true")


def require_readable(spark: SparkSession | None) -> None:
    """StartError if Spark has no Python data sources, and so can read no spool. Without a session, PySpark here."""
    from penstock.spark.spark_version import require_version

    require_version(
        spark, (4, 0), 'SparkStream, as format("penstock"),', instead="write with ps.ParquetSink, which any Spark reads"
    )


def ensure_registered(spark: SparkSession) -> None:
    """Registers, unless that has been done: Spark would warn that a format is replaced."""
    if spark.conf.get(_REGISTERED, "") != "true":
        register(spark)


def spools_of(topology: Topology) -> dict[str, str]:
    """Where the spools of a topology are, by the name of the sink."""
    return {spec.name: spec.logic.path for spec in topology.components.values() if isinstance(spec.logic, SparkStream)}


def spool_url(options: Mapping[str, str]) -> str:
    """Where the spool is that somebody wants to read.

    Raises:
        RunError: the options do not say, or there is no such run, or no such stream.
    """
    given = ", ".join(f"{name}={without_secrets(value)!r}" for name, value in sorted(options.items())) or "none"
    strange = sorted(set(options) - set(_KNOWN))
    if strange or ("path" in options) == ("run" in options) or ("run" in options) != ("stream" in options):
        message = f'format "penstock": wanted the options run and stream, or path, got {given}'
        raise RunError(message)
    if "path" in options:
        return absolute(options["path"])
    try:
        run = RunDirectory.default().find_streams(options["run"])
    except RunError as error:
        message = f'format "penstock": option run: {error}. If that run was on another machine, or long ago, give path'
        raise RunError(message) from None
    if options["stream"] not in run.streams:
        there = ", ".join(map(repr, run.streams)) or "none"
        message = (
            f'format "penstock": option stream: wanted a SparkStream of run {run.run} ({run.topology}), got '
            f"{options['stream']!r}; there is {there}"
        )
        raise RunError(message)
    return run.streams[options["stream"]]


def most_per_trigger(options: Mapping[str, str], *, known: bool = True) -> tuple[int | None, int | None]:
    """How many files and how many bytes a micro-batch may have; None is any number.

    Args:
        options: those of the query.
        known: whether this Spark can be held to a limit.

    Raises:
        RunError: that is not what the options say, or they say it in vain.
    """
    given = {name: options[name.lower()] for name in _LIMITS if name.lower() in options}
    for name, value in given.items():
        if not value.isdecimal() or int(value) < 1:
            message = f'format "penstock": option {name}: wanted a whole number above 0, got {value!r}'
            raise RunError(message)
    if len(given) > 1:
        message = f'format "penstock": wanted {" or ".join(_LIMITS)}, got both'
        raise RunError(message)
    if given and not known:
        message = f'format "penstock": option {next(iter(given))} needs Spark 4.2 or newer: leave it out, or use that'
        raise RunError(message)
    files, size = (int(given[name]) if name in given else None for name in _LIMITS)
    return files, size
