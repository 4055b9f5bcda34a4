"""The store on filesystems that fail: what was committed stays, what was not is not there."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.checkpoint.files import Files
from penstock.checkpoint.location import Location
from penstock.checkpoint.manifest import Manifest, PartRef, encode_manifest
from penstock.checkpoint.store import CheckpointStore
from penstock.errors import CheckpointError
from tests.checkpoint.examples import claimed, files_in, manifest
from tests.checkpoint.faulty_filesystem import Faults, faulty, in_memory
from tests.checkpoint.object_store import object_store

SKILLS = {
    "moves": {},
    "does not move onto files": {"moves_onto_files": False},
    "cannot move": {"can_move": False},
}


def _payload(epoch: int, task: int) -> bytes:
    return f"what task {task} saved in epoch {epoch}".encode()


def _run(store: CheckpointStore, run: str, acknowledged: list[Manifest]) -> None:
    """A short life of a driver: goes on from what is there, for three epochs, and cleans."""
    store.claim(run)
    before = store.latest()
    first = before.epoch + 1 if before else 1
    chains: list[tuple[PartRef, ...]] = [task.parts for task in before.tasks] if before else [(), ()]
    for epoch in range(first, first + 3):
        for task in range(2):
            ref = store.write_part(epoch=epoch, task=task, payload=_payload(epoch, task))
            chains[task] = (*chains[task][-2:], ref)
        store.commit(manifest(epoch, *chains, run=run))
        acknowledged.append(manifest(epoch, *chains, run=run))
        store.clean(keep=2)
    store.release(run)


def _assert_whole(store: CheckpointStore, found: Manifest | None) -> None:
    for part in found.parts() if found else ():
        epoch, task = (int(word) for word in part.path.removeprefix("parts/").split("-")[:2])
        assert store.read_part(part) == _payload(epoch, task)


def _parts_in(place: Location) -> set[str]:
    return {f"parts/{name}" for name in Files(place).sizes("parts")}


def _parts_of(*manifests: Manifest) -> set[str]:
    return {part.path for saved in manifests for part in saved.parts()}


@pytest.mark.parametrize("torn", [False, True], ids=["whole or nothing", "torn"])
@pytest.mark.parametrize("skills", SKILLS.values(), ids=SKILLS)
def test_a_failure_at_any_operation_loses_nothing_that_was_committed(skills: dict[str, bool], torn: bool) -> None:
    fail_at, failed = 0, True
    while failed:
        place = in_memory()
        acknowledged: list[Manifest] = []
        _run(CheckpointStore(faulty(place, Faults(**skills))), "before", acknowledged)
        try:
            faults = Faults(fail_at=fail_at, torn=torn, **skills)
            _run(CheckpointStore(faulty(place, faults)), "failing", acknowledged)
            failed = faults.operations > fail_at  # one that nobody had to hear of
        except CheckpointError as error:
            assert "planted" in str(error) or "lease" in str(error)  # noqa: PT017

        store = CheckpointStore(faulty(place, Faults(**skills)))
        store.probe()
        found = store.latest()
        assert found is not None
        # A commit that raised may have been one all the same.
        assert found == acknowledged[-1] or found.epoch == acknowledged[-1].epoch + 1
        _assert_whole(store, found)

        # The next run goes on from there, and cleans up what the other left.
        heir = list[Manifest]()
        store.release("failing")
        _run(CheckpointStore(faulty(place, Faults(**skills))), "failing", heir)
        assert heir[0].epoch == found.epoch + 1
        assert store.latest() == heir[-1]
        _assert_whole(store, heir[-1])
        assert _parts_in(place) == _parts_of(*heir[-2:])
        fail_at += 1
    assert fail_at > 50  # it did fail, at every operation


def test_without_rename_a_file_is_put_in_one_go() -> None:
    place = in_memory()
    store = CheckpointStore(faulty(place, Faults(can_move=False)))
    store.probe()
    _run(store, "run", [])
    names = {*Files(place).sizes("parts"), *Files(place).sizes("manifests")}
    assert names
    assert not [name for name in names if name.endswith(".writing")]


def _damaged(place: Location, epoch: int, payload: bytes) -> None:
    with place.filesystem.open_output_stream(f"{place.root}/manifests/{epoch:012d}.json", compression=None) as stream:
        stream.write(payload)


def _without_rename(place: Location) -> CheckpointStore:
    store = CheckpointStore(faulty(place, Faults(can_move=False)))
    store.probe()
    return store


@pytest.mark.parametrize("torn", [(4,), (4, 5)], ids=["one", "two"])
def test_where_a_write_can_be_torn_half_a_manifest_is_passed_over_and_told(torn: tuple[int, ...]) -> None:
    place = in_memory()
    _run(_without_rename(place), "run", [])
    for epoch in torn:
        _damaged(place, epoch, encode_manifest(manifest(epoch))[:-20])
    told: list[str] = []
    found = _without_rename(place).latest(tell=told.append)
    assert found is not None
    assert found.epoch == 3
    assert len(told) == len(torn)
    wanted = r"000000000004\.json was written in part only \(.*\), so epoch 4 was never .* goes on from epoch 3"
    assert re.search(wanted, told[-1])


def test_where_a_write_can_be_torn_a_manifest_that_has_changed_is_refused_all_the_same() -> None:
    place = in_memory()
    _run(_without_rename(place), "run", [])
    _damaged(place, 4, encode_manifest(manifest(4)).replace(b'"epoch":4', b'"epoch":5'))
    with pytest.raises(CheckpointError, match=r"000000000004\.json is damaged: wanted checksum"):
        _without_rename(place).latest()


def test_where_a_write_can_be_torn_a_run_does_not_begin_anew_because_no_manifest_is_whole() -> None:
    place = in_memory()
    _run(_without_rename(place), "run", [])
    for epoch in (2, 3):
        _damaged(place, epoch, b"")
    with pytest.raises(CheckpointError, match=r"000000000003\.json is damaged.*No whole one is before it"):
        _without_rename(place).latest()


@pytest.mark.parametrize("place", [in_memory, object_store])
def test_where_no_write_can_be_torn_half_a_manifest_is_refused(place: Callable[[], Location]) -> None:
    there = place()
    store = CheckpointStore(there)
    _run(store, "run", [])
    _damaged(there, 4, encode_manifest(manifest(4))[:-20])
    with pytest.raises(CheckpointError, match=r"000000000004\.json is damaged: wanted a whole manifest, got"):
        store.latest()


@given(st.integers(0, 5), st.booleans())
def test_a_part_that_could_not_be_written_is_an_error_and_no_file(fail_at: int, torn: bool) -> None:
    place = in_memory()
    CheckpointStore(place).claim("run")
    faults = Faults(fail_at=fail_at, torn=torn)
    store = CheckpointStore(faulty(place, faults))
    try:
        ref = store.write_part(epoch=1, task=0, payload=b"state")
    except CheckpointError as error:
        assert "cannot write checkpoint/parts/000000000001-000000-" in str(error)  # noqa: PT017
        assert _parts_in(place) == set()
    else:
        assert faults.operations <= fail_at
        assert CheckpointStore(place).read_part(ref) == b"state"


def test_a_store_that_cannot_be_listed_does_not_look_empty() -> None:
    place = in_memory()
    _run(CheckpointStore(place), "run", [])
    for fail_at in range(3):
        with pytest.raises(CheckpointError, match="planted failure"):
            CheckpointStore(faulty(place, Faults(fail_at=fail_at))).latest()


def test_a_spoiled_probe_is_found_out() -> None:
    for fail_at in range(6):
        with pytest.raises(CheckpointError, match="planted"):
            CheckpointStore(faulty(in_memory(), Faults(fail_at=fail_at))).probe()


def test_a_full_disk_stops_epochs_and_spoils_none(small_disk: Path) -> None:
    store = claimed(small_disk)
    chain: tuple[PartRef, ...] = ()
    for epoch in range(1, 100):
        try:
            chain = (*chain, store.write_part(epoch=epoch, task=0, payload=bytes(100_000)))
            store.commit(manifest(epoch, chain))
        except CheckpointError as error:
            assert "No space left on device" in str(error)  # noqa: PT017
            break
    committed = store.latest()
    assert committed is not None
    assert committed.epoch == len(committed.parts()) >= 5
    assert {path for path in files_in(small_disk) if path.endswith(".writing")} == set()

    # With room again it goes on by itself: the next full state does away with the chain.
    (ref,) = [store.write_part(epoch=committed.epoch + 1, task=0, payload=bytes(10_000))]
    store.commit(manifest(committed.epoch + 1, (ref,)))
    store.clean(keep=1)
    store.write_part(epoch=committed.epoch + 2, task=0, payload=bytes(500_000))
    assert store.latest() == manifest(committed.epoch + 1, (ref,))
