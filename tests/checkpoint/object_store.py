"""What an object store is to pyarrow: no folders, no renames, and an object appears when its upload is complete."""

from __future__ import annotations

from typing import Any

from pyarrow import fs

from penstock.checkpoint.location import Location


class ObjectStore:
    """Objects by name, in memory."""

    type_name = "s3"

    def __init__(self) -> None:
        self._below = fs._MockFileSystem()

    def open_output_stream(self, path: str, *, compression: None) -> Any:
        self._below.create_dir(path.rpartition("/")[0], recursive=True)
        return self._below.open_output_stream(path, compression=compression)

    def open_input_stream(self, path: str, *, compression: None) -> Any:
        return self._below.open_input_stream(path, compression=compression)

    def get_file_info(self, selector: Any) -> Any:
        return self._below.get_file_info(selector)

    def delete_file(self, path: str) -> None:
        self._below.delete_file(path)

    def move(self, source: str, target: str) -> None:
        message = f"an object store would copy and delete: {source} to {target}"
        raise AssertionError(message)

    def create_dir(self, path: str, *, recursive: bool) -> None:
        message = f"an object store would make an empty object: {path} {recursive}"
        raise AssertionError(message)


def object_store() -> Location:
    return Location(filesystem=ObjectStore(), root="bucket/checkpoint", url="s3://bucket", shown="s3://bucket")
