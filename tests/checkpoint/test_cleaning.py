"""Cleaning: what is needed stays, what is being written stays, everything else goes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.checkpoint.manifest import PartRef
from penstock.checkpoint.store import CheckpointStore
from penstock.errors import CheckpointError
from tests.checkpoint.examples import claimed, files_in, manifest
from tests.checkpoint.faulty_filesystem import in_memory

# Each epoch: for each of two tasks, whether it saves all (else a delta); and whether the epoch is committed.
epochs = st.lists(st.tuples(st.tuples(st.booleans(), st.booleans()), st.booleans()), min_size=1, max_size=12)


@given(epochs, st.integers(1, 3), st.booleans())
def test_what_stays_is_what_the_newest_need_and_what_is_under_way(
    ends: list[tuple[tuple[bool, bool], bool]], keep: int, abandoned: bool
) -> None:
    store = CheckpointStore(in_memory())
    store.claim("run")
    chains: list[tuple[PartRef, ...]] = [(), ()]
    committed, written = [], list[tuple[int, PartRef]]()
    for epoch, (full, is_committed) in enumerate(ends, 1):
        for task in range(2):
            ref = store.write_part(epoch=epoch, task=task, payload=f"{epoch} {task}".encode())
            written.append((epoch, ref))
            chains[task] = (ref,) if full[task] or not chains[task] else (*chains[task], ref)
        if is_committed:
            committed.append(manifest(epoch, *chains))
            store.commit(committed[-1])

    deleted = store.clean(keep=keep, abandoned_before=len(ends) + 1 if abandoned else None)

    kept = committed[-keep:]
    needed = {part for saved in kept for part in saved.parts()}
    newest = committed[-1].epoch if committed else 0
    under_way = set() if abandoned else {ref for epoch, ref in written if epoch > newest}
    there = {ref for _, ref in written if _is_there(store, ref)}
    assert there == needed | under_way
    assert store.latest() == (committed[-1] if committed else None)
    assert deleted == len(written) - len(there) + len(committed) - len(kept)
    assert store.clean(keep=keep) == 0


def _is_there(store: CheckpointStore, ref: PartRef) -> bool:
    try:
        store.read_part(ref)
    except CheckpointError:
        return False
    return True


def test_what_killed_writers_left_goes_with_its_epoch(tmp_path: Path) -> None:
    store = claimed(tmp_path)
    store.commit(manifest(2))
    for epoch in (1, 2, 3):
        (tmp_path / f"parts/{epoch:012d}-000001-00ff.part.00ff.writing").write_bytes(b"half")
        (tmp_path / f"manifests/{epoch:012d}.json.00ff.writing").write_bytes(b"half")
    assert store.clean() == 4
    assert files_in(tmp_path) == {
        "manifests/000000000002.json",
        "parts/000000000003-000001-00ff.part.00ff.writing",
        "manifests/000000000003.json.00ff.writing",
    }
    assert store.clean(abandoned_before=4) == 2


def test_what_is_not_ours_is_not_touched(tmp_path: Path) -> None:
    store = claimed(tmp_path)
    (tmp_path / "parts" / "notes.txt").write_text("mine")
    (tmp_path / "manifests" / "notes.txt").write_text("mine")
    store.commit(manifest(1))
    store.clean(abandoned_before=10)
    assert files_in(tmp_path) == {"parts/notes.txt", "manifests/notes.txt", "manifests/000000000001.json"}


def test_an_epoch_that_lacks_parts_does_not_have_the_one_before_it_cleaned_away(tmp_path: Path) -> None:
    store = claimed(tmp_path)
    refs = [store.write_part(epoch=epoch, task=0, payload=b"state") for epoch in (1, 2)]
    store.commit(manifest(1, (refs[0],)))
    store.commit(manifest(2, (refs[1],)))
    (tmp_path / refs[1].path).unlink()
    store.clean(keep=1)
    assert (tmp_path / "manifests" / "000000000001.json").exists()
    assert store.read_part(refs[0]) == b"state"


def test_at_least_one_epoch_is_kept(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="keep: wanted at least 1 epoch, got 0"):
        claimed(tmp_path).clean(keep=0)
