"""Processes that have too little memory for a ring: these functions run in children of the nursery."""

from __future__ import annotations

import os
import resource
from multiprocessing.connection import Connection
from pathlib import Path

from penstock.errors import RingError
from penstock.transport.ring import RingReader, RingSettings, RingWriter
from tests.ring.proc import open_descriptors


def _try_to_create(channel: Connection, capacity_bytes: int) -> None:
    try:
        RingReader.create(RingSettings(capacity_bytes=capacity_bytes)).close()
        channel.send("created")
    except RingError as error:
        channel.send(f"{type(error).__name__}: {error}")


def _mapped_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def create_with_little_address_space(channel: Connection, spare_bytes: int, capacities: list[int]) -> None:
    limit = _mapped_bytes() + spare_bytes
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    before = open_descriptors()
    for capacity_bytes in capacities:
        _try_to_create(channel, capacity_bytes)
    channel.send(open_descriptors() == before)


def attach_with_little_address_space(channel: Connection, address: str, spare_bytes: int) -> None:
    limit = _mapped_bytes() + spare_bytes
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    before = open_descriptors()
    try:
        RingWriter.attach(address)
    except RingError as error:
        channel.send(f"{type(error).__name__}: {error}")
    channel.send(open_descriptors() == before)


def create_in_control_group(channel: Connection, group: Path, capacities: list[int]) -> None:
    (group / "cgroup.procs").write_text(str(os.getpid()))
    for capacity_bytes in capacities:
        _try_to_create(channel, capacity_bytes)
