"""The store works the same wherever it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyarrow import fs

from penstock.checkpoint.files import Files
from penstock.checkpoint.location import Location, locate
from penstock.checkpoint.manifest import PartRef
from penstock.checkpoint.store import CheckpointStore
from penstock.errors import CheckpointError
from tests.checkpoint.examples import manifest
from tests.checkpoint.faulty_filesystem import Faults, faulty, in_memory
from tests.checkpoint.object_store import object_store


def _subtree(folder: Path) -> Location:
    filesystem = fs.SubTreeFileSystem(str(folder), fs.LocalFileSystem())
    return Location(filesystem=filesystem, root="checkpoint", url=str(folder), shown=str(folder))


PLACES: dict[str, Callable[[Path], Location]] = {
    "path": locate,
    "url": lambda folder: locate(folder.as_uri()),
    "subtree": _subtree,
    "mock": lambda _: in_memory(),
    "object store": lambda _: object_store(),
    "in Python": lambda _: faulty(in_memory(), Faults()),
    "in Python, without rename": lambda _: faulty(in_memory(), Faults(can_move=False)),
    "in Python, rename onto nothing only": lambda _: faulty(in_memory(), Faults(moves_onto_files=False)),
}


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Location:
    return PLACES[request.param](tmp_path)


def test_a_life(place: Location) -> None:
    driver, worker, files = CheckpointStore(place), CheckpointStore(place), Files(place)
    driver.probe()
    assert driver.latest() is None
    driver.claim("run")
    worker.join("run")
    chain: tuple[PartRef, ...] = ()
    for epoch in range(1, 5):
        chain = (*chain[-1:], worker.write_part(epoch=epoch, task=7, payload=b"state" * epoch))
        driver.commit(manifest(epoch, chain))
        driver.commit(manifest(epoch, chain))  # as after a failure that was none
        assert driver.latest() == manifest(epoch, chain)
        driver.clean(keep=2)
    assert [worker.read_part(ref) for ref in chain] == [b"state" * 3, b"state" * 4]
    assert len(files.sizes("manifests")) == 2
    assert len(files.sizes("parts")) == 3
    with pytest.raises(CheckpointError, match="run 'run'"):
        driver.claim("another")
    driver.release("run")
    driver.claim("another")
    assert set(files.sizes("")) - {"lease.lock"} == {"identity", "lease.json"}
