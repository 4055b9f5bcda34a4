"""The store when all goes well, and when files are not what they should be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from penstock.checkpoint.manifest import encode_manifest
from penstock.checkpoint.store import CheckpointStore
from penstock.errors import CheckpointError
from tests.checkpoint.examples import claimed, files_in, manifest


def test_parts_are_read_as_they_were_written(tmp_path: Path) -> None:
    store = claimed(tmp_path)
    refs = [store.write_part(epoch=1, task=3, payload=payload) for payload in (b"", b"state", bytes(5_000_000))]
    other = CheckpointStore.open(store.url)  # as in another process
    assert [other.read_part(ref) for ref in refs] == [b"", b"state", bytes(5_000_000)]


def test_a_second_attempt_is_another_file(tmp_path: Path) -> None:
    store = claimed(tmp_path)
    refs = {store.write_part(epoch=1, task=3, payload=b"same") for _ in range(20)}
    assert len({ref.path for ref in refs}) == 20


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


def _change(file: Path) -> None:
    file.write_bytes(b"S" + file.read_bytes()[1:])


@pytest.mark.parametrize(
    ("spoil", "got"),
    [(Path.unlink, "no such file"), (_cut, "4 bytes with checksum "), (_change, "5 bytes with checksum ")],
)
def test_a_spoiled_part_is_refused(tmp_path: Path, spoil: Callable[[Path], None], got: str) -> None:
    store = claimed(tmp_path)
    ref = store.write_part(epoch=1, task=3, payload=b"state")
    spoil(tmp_path / ref.path)
    wanted = f"wanted 5 bytes with checksum {ref.checksum} in {tmp_path}/{ref.path}, got {got}"
    with pytest.raises(CheckpointError, match=wanted):
        store.read_part(ref)


def test_the_newest_committed_epoch_is_the_latest(tmp_path: Path) -> None:
    store = claimed(tmp_path)
    assert store.latest() is None
    store.commit(manifest(0))
    assert store.latest() == manifest(0)
    for epoch in (1, 2, 10, 9):
        store.commit(manifest(epoch))
    assert CheckpointStore.open(tmp_path).latest() == manifest(10)


def test_there_is_none_where_nothing_was_ever_written(tmp_path: Path) -> None:
    assert CheckpointStore.open(tmp_path / "not there").latest() is None
    assert not (tmp_path / "not there").exists()


def test_an_epoch_may_be_committed_again(tmp_path: Path) -> None:
    store = claimed(tmp_path)
    store.commit(manifest(1))
    store.commit(replace(manifest(1), finished=True))
    assert store.latest() == replace(manifest(1), finished=True)


def test_foreign_files_and_drafts_are_passed_over(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = claimed(tmp_path)
    store.commit(manifest(1))
    folder = tmp_path / "manifests"
    (folder / "000000000004.json.00ff.writing").write_bytes(encode_manifest(manifest(4))[:-10])
    (folder / "notes.txt").write_text("hello")
    (folder / "folder").mkdir()
    assert store.latest() == manifest(1)
    assert [record.levelname for record in caplog.records] == ["WARNING"] * 2
    assert "notes.txt is none of ours" in caplog.text
    assert "folder is none of ours" in caplog.text


def _empty(file: Path) -> None:
    file.write_bytes(b"")


def _flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def _overwrite(file: Path) -> None:
    file.write_bytes((file.parent / "000000000001.json").read_bytes())


def _make_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


DAMAGE: dict[str, tuple[Callable[[Path], None], str]] = {
    "cut": (_cut, "is damaged: wanted a whole manifest, got .* bytes"),
    "empty": (_empty, "is damaged: wanted a whole manifest, got 0 bytes"),
    "flipped": (_flip, "is damaged: wanted"),
    "of another epoch": (_overwrite, "is damaged: wanted the manifest of epoch 2, got that of epoch 1"),
    "a folder": (_make_folder, "is a directory"),
}


@pytest.mark.parametrize(("damage", "got"), DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_manifest_is_refused(tmp_path: Path, damage: Callable[[Path], None], got: str) -> None:
    """On a disk no write is torn, so its epoch may be committed: to go on from the one before would repeat it."""
    store = claimed(tmp_path)
    for epoch in (1, 2):
        store.commit(manifest(epoch))
    file = tmp_path / "manifests" / "000000000002.json"
    damage(file)
    with pytest.raises(CheckpointError, match=rf"{file}.*{got}"):
        CheckpointStore.open(tmp_path).latest()
    store.clean(keep=1)
    assert file.exists(), "what was damaged is not cleaned away, so that the next run is refused, too"


def test_what_the_refusal_of_a_damaged_manifest_says_can_be_done(tmp_path: Path) -> None:
    store = claimed(tmp_path)
    for epoch in (1, 2):
        store.commit(manifest(epoch))
    file = tmp_path / "manifests" / "000000000002.json"
    copy = file.read_bytes()
    _cut(file)
    with pytest.raises(CheckpointError, match=r"delete it to go back to epoch 1: what sinks have committed"):
        store.latest()
    file.write_bytes(copy)
    assert store.latest() == manifest(2)
    file.unlink()
    assert store.latest() == manifest(1)


def test_where_all_manifests_are_damaged_nothing_begins_anew(tmp_path: Path) -> None:
    store = claimed(tmp_path)
    for epoch in (1, 2):
        store.commit(manifest(epoch))
        _cut(tmp_path / "manifests" / f"{epoch:012d}.json")
    with pytest.raises(CheckpointError, match=r"000000000002\.json is damaged.* No whole one is before it"):
        store.latest()


def test_a_damaged_manifest_before_the_newest_does_no_harm(tmp_path: Path) -> None:
    store = claimed(tmp_path)
    for epoch in (1, 2, 3):
        store.commit(manifest(epoch))
    _cut(tmp_path / "manifests" / "000000000002.json")
    assert store.latest() == manifest(3)
    store.clean(keep=2)
    assert files_in(tmp_path) == {"manifests/000000000001.json", "manifests/000000000003.json"}


@pytest.mark.parametrize("spoil", [Path.unlink, _cut])
def test_an_epoch_without_all_its_parts_is_not_passed_over_in_silence(
    tmp_path: Path, spoil: Callable[[Path], object]
) -> None:
    """Sinks may have shown what it holds: to go on from the one before would show that twice."""
    store = claimed(tmp_path)
    refs = [store.write_part(epoch=epoch, task=0, payload=b"state") for epoch in (1, 2)]
    for epoch in (1, 2):
        store.commit(manifest(epoch, tuple(refs[:epoch])))
    spoil(tmp_path / refs[1].path)
    with pytest.raises(CheckpointError, match=rf"wanted all parts of epoch 2.* but 1 are not there.* {refs[1].path}"):
        store.latest()


def test_a_manifest_of_another_version_is_refused_by_name(tmp_path: Path) -> None:
    store = claimed(tmp_path)
    store.commit(manifest(1))
    store.commit(replace(manifest(2), format=7))
    for look in (store.latest, store.clean):
        with pytest.raises(CheckpointError, match=r"000000000002\.json: wanted a manifest of format 1, got .* 7"):
            look()


def test_probing_leaves_nothing(tmp_path: Path) -> None:
    CheckpointStore.open(tmp_path / "new" / "folder").probe()
    assert files_in(tmp_path) == set()


def test_probing_finds_out_what_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(CheckpointError, match=f"checkpoint: cannot create folder {tmp_path}/file"):
        CheckpointStore.open(tmp_path / "file").probe()
    with pytest.raises(CheckpointError, match="checkpoint: cannot create folder /proc/nowhere"):
        CheckpointStore.open("/proc/nowhere").probe()
