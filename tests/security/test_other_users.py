"""Another user of the machine gets nowhere: not at a ring, not at the files of runs, not at what they hold.

That the ring's door looks at who knocks is tested in tests/ring/test_door.py.
"""

from __future__ import annotations

import base64
import contextlib
import os
from pathlib import Path

import msgspec
import pytest

from penstock.control.keys import RunKeys
from penstock.control.registry import RunDirectory, RunFile
from penstock.errors import RingAttachError, RunError
from penstock.transport.ring import RingReader, RingSettings, RingWriter, Route
from tests.ring.nursery import Nursery
from tests.ring.patience import wait_until
from tests.security.other_users import crowd_the_door, open_descriptors_of, plant_folder, pry

pytestmark = pytest.mark.usefixtures("needs_root")

KEYS = RunKeys.make()
FILE = RunFile(
    run="abc123",
    topology="wordcount",
    endpoint="tcp://127.0.0.1:5555",
    server_public=KEYS.server.public,
    keys=KEYS.client,
    started_at="2026-01-01T00:00:00Z",
)


def test_nobody_else_reads_changes_or_adds_run_files(common_folder: Path, nursery: Nursery) -> None:
    directory = RunDirectory(common_folder / "runs")
    directory.publish(FILE)
    (file,) = directory.path.iterdir()

    child = nursery.fork(pry, directory.path, file)
    outcomes = child.receive()
    assert child.wait() == 0

    assert outcomes.pop("look as Penstock does") == "done: []"
    assert set(outcomes.values()) == {"PermissionError"}
    assert directory.runs() == [FILE]


def test_a_folder_that_somebody_else_has_made_is_neither_read_nor_used(common_folder: Path, nursery: Nursery) -> None:
    """It would name his driver, and whoever asks about a run would ask him."""
    child = nursery.fork(plant_folder, common_folder / "runs", msgspec.json.encode(FILE))
    assert child.receive() == "planted"
    assert child.wait() == 0
    directory = RunDirectory(common_folder / "runs")

    assert directory.runs() == []
    with pytest.raises(RunError, match="belongs to user 0"):
        directory.publish(FILE)


def test_the_secret_is_in_the_file_and_in_no_place_that_others_can_see(common_folder: Path) -> None:
    directory = RunDirectory(common_folder / "runs")
    directory.publish(FILE)
    (file,) = directory.path.iterdir()

    assert base64.b64encode(KEYS.client.secret) in file.read_bytes()
    assert base64.b64encode(KEYS.server.secret) not in file.read_bytes(), "the driver's secret never leaves it"
    for public in ("cmdline", "environ"):
        assert KEYS.client.secret not in Path("/proc/self", public).read_bytes()


def test_nobody_else_opens_the_rings_memory(nursery: Nursery) -> None:
    with RingReader.create(RingSettings(capacity_bytes=1 << 14)) as ring:
        child = nursery.fork(open_descriptors_of, os.getpid(), ring.memory_fd)
        outcomes = child.receive()
        assert child.wait() == 0

    assert set(outcomes.values()) == {"PermissionError"}


def attached(address: str) -> RingWriter:
    """A writer, as soon as the crowd before it has been seen."""
    writers: list[RingWriter] = []

    def attach() -> bool:
        with contextlib.suppress(RingAttachError):
            writers.append(RingWriter.attach(address))
        return bool(writers)

    wait_until(attach, "the writer is let in")
    return writers[0]


def test_a_crowd_of_others_at_the_door_keeps_no_writer_out(nursery: Nursery) -> None:
    with RingReader.create(RingSettings(capacity_bytes=1 << 14, max_producers=4)) as ring:
        crowd = nursery.fork(crowd_the_door, ring.address, 300)
        assert crowd.receive() == "crowded"
        with attached(ring.address) as writer:
            writer.write(b"from a friend", Route())
            record = ring.read(20)
            assert record is not None
            assert bytes(record.payload) == b"from a friend"
            assert len(ring.live_slots()) == 1
        crowd.channel.send("go")
        assert crowd.wait() == 0
