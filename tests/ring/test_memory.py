"""The ring's memory: who can reach it, what is not a ring, and what happens where there is too little of it."""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.errors import RingMemoryError
from penstock.transport.memory_limit import MemoryLimit, free_memory_limit
from penstock.transport.ring import RingReader, RingSettings
from tests.ring.nursery import Nursery
from tests.ring.patience import wait_until
from tests.ring.proc import descriptor_target
from tests.ring.squeezed import (
    attach_with_little_address_space,
    create_in_control_group,
    create_with_little_address_space,
)

MIB = 1 << 20
SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW


def test_memory_has_no_name_and_is_not_inherited(reader: RingReader) -> None:
    assert descriptor_target(reader.memory_fd) == "/memfd:penstock-ring (deleted)"
    assert not os.get_inheritable(reader.memory_fd)
    assert os.fstat(reader.memory_fd).st_nlink == 0


def test_memory_cannot_shrink_or_grow(reader: RingReader) -> None:
    seals = fcntl.fcntl(reader.memory_fd, fcntl.F_GET_SEALS)
    assert seals & SEALS == SEALS
    assert seals & fcntl.F_SEAL_SEAL
    with pytest.raises(PermissionError):
        os.ftruncate(reader.memory_fd, 4096)


def test_memory_is_allocated_in_full_at_once() -> None:
    with RingReader.create(RingSettings(capacity_bytes=MIB)) as reader:
        assert os.fstat(reader.memory_fd).st_blocks * 512 >= MIB


@pytest.mark.parametrize("capacity", [0, 1, 2048, 4095, 5000, 65_537, 1 << 33])
def test_bad_capacity(capacity: int) -> None:
    with pytest.raises(RingMemoryError, match=f"power of two from 4096 to 4294967296 bytes, got {capacity}"):
        RingReader(RingSettings(capacity_bytes=capacity))


@pytest.mark.parametrize("producers", [0, 4097])
def test_bad_number_of_producers(producers: int) -> None:
    with pytest.raises(RingMemoryError, match=f"max_producers must be from 1 to 4096, got {producers}"):
        RingReader.create(RingSettings(max_producers=producers))


@contextlib.contextmanager
def memfd(content: bytes, seals: int = SEALS) -> Iterator[int]:
    descriptor = os.memfd_create("not-a-ring", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
    try:
        os.write(descriptor, content)
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
        yield descriptor
    finally:
        os.close(descriptor)


def ring_bytes(**changes: int) -> bytes:
    """A ring's memory as it is when it is new, with some of its sizes changed."""
    settings = RingSettings(capacity_bytes=4096, max_producers=1)
    with RingReader.create(settings) as reader, mmap.mmap(reader.memory_fd, 0) as memory:
        content = bytearray(memory)
    fields = {"magic": (0, "Q"), "version": (8, "I"), "producers": (12, "I"), "capacity": (16, "Q")}
    for name, value in changes.items():
        offset, kind = fields[name]
        struct.pack_into(kind, content, offset, value)
    return bytes(content)


def test_ordinary_file_is_not_a_ring(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(ring_bytes())
    with path.open("r+b") as file, pytest.raises(RingMemoryError, match="not a memfd sealed against shrinking"):
        RingReader.resume(file.fileno())


@pytest.mark.parametrize("seals", [0, fcntl.F_SEAL_GROW, fcntl.F_SEAL_SHRINK])
def test_memory_that_could_shrink_or_grow_is_not_a_ring(seals: int) -> None:
    with memfd(ring_bytes(), seals) as descriptor, pytest.raises(RingMemoryError, match="not a memfd sealed"):
        RingReader.resume(descriptor)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not a ring: bytes=0"),
        (bytes(1023), "not a ring: bytes=1023"),
        (bytes(8192), "does not begin with a ring's magic number"),
        (ring_bytes(magic=1), "does not begin with a ring's magic number"),
        (ring_bytes(version=0), "layout version wanted=2 got=0"),
        (ring_bytes(version=3), "layout version wanted=2 got=3"),
        (ring_bytes(capacity=8192), "segment size wanted=12288 got=8192"),
        (ring_bytes(capacity=5000), "power of two .* got 5000"),
        (ring_bytes(capacity=1 << 63), "power of two"),
        (ring_bytes(producers=0), "max_producers must be from 1 to 4096, got 0"),
        (ring_bytes(producers=4_000_000_000), "max_producers must be from 1 to 4096, got 4000000000"),
        (ring_bytes(producers=4096), "segment size wanted=.* got=8192"),
        (ring_bytes()[:-64], "segment size wanted=8192 got=8128"),
    ],
)
def test_memory_that_is_no_ring(content: bytes, reason: str) -> None:
    with memfd(content) as descriptor, pytest.raises(RingMemoryError, match=reason):
        RingReader.resume(descriptor)


def test_closed_descriptor() -> None:
    with pytest.raises(RingMemoryError, match="Bad file descriptor"):
        RingReader.resume(10_000)


def test_little_address_space(nursery: Nursery) -> None:
    child = nursery.fork(create_with_little_address_space, 32 * MIB, [256 * MIB, MIB])
    assert child.receive().startswith("RingMemoryError: no memory for a ring: ")
    assert child.receive() == "created"
    assert child.receive() is True, "descriptors leaked"
    assert child.wait() == 0


def test_little_address_space_for_a_writer(nursery: Nursery) -> None:
    with RingReader.create(RingSettings(capacity_bytes=64 * MIB)) as reader:
        child = nursery.fork(attach_with_little_address_space, reader.address, 16 * MIB)
        assert "RingMemoryError: no memory for a ring: mmap of bytes=" in child.receive()
        assert child.receive() is True, "descriptors leaked"
        assert child.wait() == 0
        wait_until(lambda: reader.live_slots() == [], "the slot is given back")


def groups(tmp_path: Path, membership: str, files: dict[str, str]) -> MemoryLimit | None:
    """What is left, according to these files under the mount point of the control groups."""
    for name, text in files.items():
        path = tmp_path / "mount" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "cgroup").write_text(membership)
    return free_memory_limit(tmp_path / "cgroup", tmp_path / "mount")


def test_limit_of_control_group_version_2(tmp_path: Path) -> None:
    limit = groups(tmp_path, "0::/a/b\n", {"a/b/memory.max": "1000\n", "a/b/memory.current": "300\n"})
    assert limit == MemoryLimit(free_bytes=700, source=str(tmp_path / "mount/a/b/memory.max"))


def test_limit_of_control_group_version_1(tmp_path: Path) -> None:
    files = {"memory/a/memory.limit_in_bytes": "1000\n", "memory/a/memory.usage_in_bytes": "1200\n"}
    limit = groups(tmp_path, "5:cpu:/other\n4:memory:/a\n0::/\n", files)
    assert limit == MemoryLimit(free_bytes=0, source=str(tmp_path / "mount/memory/a/memory.limit_in_bytes"))


def test_tightest_limit_of_the_groups_above_counts(tmp_path: Path) -> None:
    files = {
        "a/b/memory.max": "max\n",
        "a/b/memory.current": "10\n",
        "a/memory.max": "500\n",
        "a/memory.current": "100\n",
        "memory.max": "9000\n",
        "memory.current": "100\n",
    }
    assert groups(tmp_path, "0::/a/b\n", files) == MemoryLimit(
        free_bytes=400, source=str(tmp_path / "mount/a/memory.max")
    )


@pytest.mark.parametrize("membership", ["", "0::/gone\n", "0::/\n", "0::/../../outside\n"])
def test_no_limit_is_known(tmp_path: Path, membership: str) -> None:
    assert groups(tmp_path, membership, {}) is None


def test_no_control_groups_at_all(tmp_path: Path) -> None:
    assert free_memory_limit(tmp_path / "none", tmp_path) is None


def test_create_asks_for_the_limit_first(monkeypatch: pytest.MonkeyPatch) -> None:
    limit = MemoryLimit(free_bytes=MIB, source="/the/file")
    monkeypatch.setattr(sys.modules[RingReader.__module__], "free_memory_limit", lambda: limit)
    with pytest.raises(RingMemoryError, match=r"capacity_bytes=8388608, .* in /the/file leaves 1048576 bytes"):
        RingReader.create()
    RingReader.create(RingSettings(capacity_bytes=MIB // 2)).close()


@pytest.fixture
def control_group() -> Iterator[Path]:
    """A real one, with room for 64 MiB."""
    for mount, limit_name in (("memory", "memory.limit_in_bytes"), (".", "memory.max")):
        group = Path("/sys/fs/cgroup", mount, f"penstock-test-{os.getpid()}")
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            (group / limit_name).write_text(str(64 * MIB))
        except OSError:
            group.rmdir()
            continue
        yield group
        wait_until(lambda group=group: not (group / "cgroup.procs").read_text(), "the group is empty")  # type: ignore[misc]
        group.rmdir()
        return
    pytest.skip("no memory control group can be made here")


def test_real_memory_limit(nursery: Nursery, control_group: Path) -> None:
    child = nursery.fork(create_in_control_group, control_group, [128 * MIB, 16 * MIB])
    refusal = child.receive()
    assert refusal.startswith(
        f"RingMemoryError: no memory for a ring: capacity_bytes={128 * MIB}, but the memory limit"
    )
    assert str(control_group) in refusal
    assert child.receive() == "created"
    assert child.wait() == 0
