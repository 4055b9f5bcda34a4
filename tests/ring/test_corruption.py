"""Another process scribbles over the ring's memory: we get an error or go on, and never crash or hang."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Callable
from multiprocessing.connection import Connection

import pytest

from penstock.errors import RingCorruptError
from penstock.transport.ring import RingReader, RingSettings, RingWriter, Route
from tests.ring.nursery import Nursery
from tests.ring.vandals import CONTROL, resume_vandalised, vandalise

ROUTE = Route()
DATA = 4096  # where the records begin, with so few producers


def run(nursery: Nursery, scene: Callable[[Connection, str, range], None], area: str, seeds: range) -> dict[str, int]:
    child = nursery.fork(scene, area, seeds)
    seed = -1
    try:
        while isinstance(word := child.receive(), int):
            seed = word
    except EOFError:
        pytest.fail(f"the process died with exit code {child.wait()} at area={area} seed={seed}")
    assert child.wait() == 0, f"it failed at area={area} seed={seed}; its stderr says why"
    outcomes: dict[str, int] = word
    return outcomes


@pytest.mark.parametrize("area", CONTROL)
def test_scribbling_never_crashes_either_end(nursery: Nursery, area: str) -> None:
    outcomes = run(nursery, vandalise, area, range(60))
    assert set(outcomes) <= {"RingCorruptError", "RingClosedError", "RingFullError"}


@pytest.mark.parametrize("area", CONTROL)
def test_scribbling_never_crashes_a_new_reader(nursery: Nursery, area: str) -> None:
    run(nursery, resume_vandalised, area, range(40))


@pytest.mark.parametrize(
    ("offset", "value", "place"),
    [
        pytest.param(128, 1 << 40, "tail", id="tail too far"),
        pytest.param(128, 7, "tail", id="tail not on a line"),
        pytest.param(DATA, 9 << 56 | 100, "record at position=0 status=9", id="unknown status"),
        pytest.param(DATA, 2 << 56 | 7 << 48 | 100, "kind=7", id="unknown kind"),
        pytest.param(DATA, 2 << 56 | 77 << 32 | 100, "slot=77", id="unknown producer"),
        pytest.param(DATA, 2 << 56 | 5_000, "length=5000", id="longer than a record may be"),
        pytest.param(DATA, 2 << 56 | 2_000, "length=2000", id="longer than what was claimed"),
        pytest.param(DATA, 4 << 56 | 2**32 - 1, "length=4294967295", id="flush beyond everything"),
        pytest.param(DATA, 2 << 56 | 1 << 48 | 100, "batch at position=0", id="batch that is none"),
        pytest.param(
            DATA, 2 << 56 | 2 << 48 | 8, "packet at position=0 .* shorter than its head", id="packet too short"
        ),
        pytest.param(DATA, 2 << 56 | 2 << 48 | 100, "packet at position=0", id="packet that is none"),
    ],
)
def test_reader_names_what_is_wrong(offset: int, value: int, place: str) -> None:
    settings = RingSettings(capacity_bytes=1 << 14, max_producers=2)
    with RingReader.create(settings) as reader, RingWriter.attach(reader.address) as writer:
        writer.write(b"\xee" * 1_000, ROUTE)
        with mmap.mmap(reader.memory_fd, 0) as memory:
            struct.pack_into("Q", memory, offset, value)
        with pytest.raises(RingCorruptError, match=place):
            reader.read(timeout_s=0)


@pytest.mark.parametrize("offset", [128, 256], ids=["tail", "free"])
def test_writer_names_what_is_wrong(offset: int) -> None:
    settings = RingSettings(capacity_bytes=1 << 14, max_producers=2)
    with RingReader.create(settings) as reader, RingWriter.attach(reader.address) as writer:
        writer.write(bytes(1_000), ROUTE)
        with mmap.mmap(reader.memory_fd, 0) as memory:
            struct.pack_into("Q", memory, offset, 1 << 40)
        with pytest.raises(RingCorruptError, match=r"positions make no sense: .*=1099511627776"):
            writer.write_many([bytes(1_000)] * 20, ROUTE)
