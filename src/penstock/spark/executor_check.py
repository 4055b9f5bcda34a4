"""The part of a preflight that runs on the executors: whether a worker would work there."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.spark.addresses import driver_address
from penstock.spark.finding import Finding
from penstock.spark.self_test import own_versions
from penstock.spark.slots import count_slots
from penstock.spark.spark_errors import remote_error
from penstock.version import __version__

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

__all__ = ["examine_executors"]

_SCHEMA = "host string, report string"
_AT_LEAST_TASKS = 4


def examine_executors(spark: SparkSession, *, workers: int) -> list[Finding]:
    """Runs a short task in every slot, as far as Spark lets us choose, and tells what it met there."""
    tasks = max(_AT_LEAST_TASKS, workers, count_slots(spark).now or 0)
    address = driver_address(spark)
    with socket.create_server((address.bind_host, 0)) as server:
        probe = _probe(address.public_host, server.getsockname()[1], own_versions())
        try:
            rows = spark.range(0, tasks, 1, tasks).mapInArrow(probe, _SCHEMA).collect()
        except Exception as error:  # of any kind: to say so is what we are here for
            return [
                Finding(
                    level="error",
                    what="a Python task cannot run on the executors",
                    why=remote_error(error),
                    remedy="see that `spark.range(1).mapInArrow(lambda batches: batches, 'id long').collect()` works",
                )
            ]
    # Counted again, because executors may have come only now.
    return list(_findings(sorted({(row.host, row.report) for row in rows}), str(count_slots(spark))))


def _findings(reports: list[tuple[str, str]], slots: str) -> Iterator[Finding]:
    nodes: set[str] = set()
    for host, text in reports:
        report = msgspec.json.decode(text, type=dict[str, str])
        if "missing" in report:
            yield Finding(
                level="error",
                what=f"executor {host} cannot import Penstock {__version__}",
                why=report["missing"],
                remedy="install it there, or ship the driver's environment with spark.archives and PYSPARK_PYTHON",
            )
            continue
        nodes.add(report.pop("node"))
        for what, why in report.items():
            yield Finding(level="error", what=f"executor {host}: {what}", why=why, remedy=_REMEDIES[what])
    if nodes:
        there = "1 node" if len(nodes) == 1 else f"{len(nodes)} nodes"
        yield Finding(level="ok", what=f"executors on {there} have Penstock {__version__}; {slots}")


_REMEDIES = {
    "other versions": "use the same Python (up to the minor number) and the same Penstock on driver and executors",
    "no shared memory": "allow memfd_create and abstract unix sockets there, and see that memory is left",
    "no encryption": "install pyzmq from its wheel, which has CURVE",
    "driver out of reach": (
        "open the way from the executors to the driver, or name an address with spark.driver.host and "
        "spark.driver.bindAddress"
    ),
}


def _probe(
    host: str, port: int, versions: tuple[str, str]
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The task. Shipped by value, and so able to say that Penstock is not there (see penstock.spark.launch)."""

    def probe(batches: Iterator[Any]) -> Iterator[Any]:
        import json
        import socket
        import time
        import traceback

        import pyarrow as pa

        for _ in batches:
            pass
        try:
            from penstock.spark.self_test import self_test
        except ImportError:
            report = {"missing": traceback.format_exc()}
        else:
            report = self_test(host, port, versions)
        time.sleep(0.2)  # so that the next task goes to another slot
        text = json.dumps(report, sort_keys=True)
        yield pa.RecordBatch.from_pydict({"host": [socket.gethostname()], "report": [text]})

    return probe
