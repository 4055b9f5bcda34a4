"""A manifest is read whole or not at all."""

from __future__ import annotations

import msgspec
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from penstock.checkpoint.manifest import (
    FORMAT,
    DamagedManifestError,
    Manifest,
    SavedTask,
    TornManifestError,
    decode_manifest,
    encode_manifest,
)
from penstock.checkpoint.shape import SavedShape
from penstock.errors import CheckpointError
from tests.checkpoint.examples import NOON
from tests.checkpoint.strategies import manifests


@given(manifests)
def test_what_is_read_is_what_was_written(manifest: Manifest) -> None:
    assert decode_manifest(encode_manifest(manifest)) == manifest


@given(manifests, st.data())
def test_no_part_of_one_is_taken_for_one(manifest: Manifest, data: st.DataObject) -> None:
    payload = encode_manifest(manifest)
    with pytest.raises(TornManifestError):
        decode_manifest(payload[: data.draw(st.integers(0, len(payload) - 1))])


@given(manifests, st.data())
def test_a_changed_byte_never_gives_another_manifest(manifest: Manifest, data: st.DataObject) -> None:
    payload = bytearray(encode_manifest(manifest))
    position = data.draw(st.integers(0, len(payload) - 1))
    payload[position] ^= data.draw(st.integers(1, 255))
    try:
        found = decode_manifest(bytes(payload))
    except DamagedManifestError:
        return
    assert found == manifest  # a byte of no meaning, such as that of white space


@given(st.binary())
def test_any_other_bytes_are_none(payload: bytes) -> None:
    with pytest.raises(DamagedManifestError):
        decode_manifest(payload)


@given(manifests, st.data())
def test_one_that_is_as_long_as_it_was_is_not_taken_for_half_of_one(manifest: Manifest, data: st.DataObject) -> None:
    """A write that is cut off leaves a beginning. Any other content is damage."""
    payload = bytearray(encode_manifest(manifest))
    begin = payload.index(b'"epoch":') + len(b'"epoch":')
    payload[begin] = data.draw(st.sampled_from(sorted({*b"123456789"} - {payload[begin]})))
    with pytest.raises(DamagedManifestError, match="wanted checksum") as caught:
        decode_manifest(bytes(payload))
    assert not isinstance(caught.value, TornManifestError)


def test_one_of_another_version_is_no_torn_one() -> None:
    content = msgspec.json.encode({"format": FORMAT + 1, "epochs": "have another shape"})
    payload = msgspec.json.encode({"checksum": xxhash.xxh3_64_hexdigest(content), "manifest": msgspec.Raw(content)})
    with pytest.raises(CheckpointError, match="wanted a manifest of format 1, got one of format 2"):
        decode_manifest(payload)


def test_tasks_by_component_in_order() -> None:
    tasks = tuple(SavedTask(component=name, index=index) for name, index in [("b", 1), ("a", 0), ("b", 0)])
    manifest = Manifest(epoch=1, run="r", created_at=NOON, shape=SavedShape(topology="t"), tasks=tasks)
    assert [task.index for task in manifest.tasks_of("b")] == [0, 1]
    assert manifest.tasks_of("c") == ()
