"""On an executor: whether what a worker needs is there. Part of the preflight."""

from __future__ import annotations

import platform
import socket
from collections.abc import Callable
from functools import partial

import zmq

from penstock.spark.node import node_identity
from penstock.transport.ring import RingReader, RingSettings, RingWriter, Route
from penstock.version import __version__

__all__ = ["own_versions", "self_test"]

_PATIENCE_S = 10.0


def self_test(driver_host: str, driver_port: int, driver_versions: tuple[str, str]) -> dict[str, str]:
    """What is wrong here, in short and at length. `node` is no trouble, but who we are."""
    report = {"node": node_identity()}
    checks: dict[str, Callable[[], None]] = {
        "other versions": partial(_same_versions, driver_versions),
        "no shared memory": _memory_can_be_shared,
        "no encryption": _links_are_encrypted,
        "driver out of reach": partial(_driver_answers, driver_host, driver_port),
    }
    for what, check in checks.items():
        try:
            check()
        except Exception as error:
            report[what] = f"{type(error).__name__}: {error}"
    return report


def _same_versions(wanted: tuple[str, str]) -> None:
    got = own_versions()
    if got != wanted:
        message = f"Penstock and Python: wanted {wanted}, as the driver has, got {got}"
        raise RuntimeError(message)


def own_versions() -> tuple[str, str]:
    """Of Penstock, and of Python up to the minor number: what has to be equal everywhere in a run."""
    return __version__, ".".join(platform.python_version_tuple()[:2])


def _memory_can_be_shared() -> None:
    """A ring, from memfd over the abstract socket to the futex: one record through it."""
    with RingReader.create(RingSettings(capacity_bytes=1 << 16)) as reader, RingWriter.attach(reader.address) as writer:
        writer.write(b"well", Route())
        record = reader.read(_PATIENCE_S)
        if record is None:
            message = f"a record was written, and did not arrive within {_PATIENCE_S:g} s"
            raise RuntimeError(message)


def _links_are_encrypted() -> None:
    if not zmq.has("curve"):
        message = f"ZeroMQ {zmq.zmq_version()} was built without CURVE"
        raise RuntimeError(message)


def _driver_answers(host: str, port: int) -> None:
    with socket.create_connection((host, port), timeout=_PATIENCE_S):
        pass
