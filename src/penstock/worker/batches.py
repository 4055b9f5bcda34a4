"""Record batches on the wire, and between rows and columns."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock.flow.ledger import UNTRACKED
from penstock.transport.canonical_key import canonical_key

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["OpenedBatch", "batch_from_payload", "batch_to_payload", "merged", "rows_of", "to_batch", "values_of"]

_HEAD = struct.Struct("<qqQQ")


def batch_to_payload(
    batch: pa.RecordBatch, origin_ns: int, sent_ns: int, frame: int = UNTRACKED, root: int = UNTRACKED
) -> bytes:
    """Two time stamps, the frame's number and the tree's root, then an Arrow IPC stream with one batch."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    sink.write(_HEAD.pack(origin_ns, sent_ns, frame, root))
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    payload: bytes = sink.getvalue().to_pybytes()
    return payload


class OpenedBatch(NamedTuple):
    """A record batch that has arrived."""

    batch: pa.RecordBatch
    origin_ns: int
    sent_ns: int
    frame: int
    root: int


def batch_from_payload(payload: bytes | memoryview) -> OpenedBatch:
    """What `batch_to_payload` was given.

    The batch gets memory of its own: what is lent from a ring has to come back soon, and user code may keep a batch.

    Raises:
        ValueError: the payload is not what `batch_to_payload` makes.
    """
    import pyarrow as pa

    # Arrow's errors have no common root but for Exception: some are OSError, MemoryError or StopIteration.
    unreadable = (struct.error, pa.ArrowException, ValueError, OSError, MemoryError, StopIteration)
    try:
        head = _HEAD.unpack_from(payload)
        with pa.ipc.open_stream(pa.py_buffer(bytes(payload)).slice(_HEAD.size)) as reader:
            batch = reader.read_next_batch()
        # Arrow believes what it reads. An offset that points outside of its buffer would be a crash when it is used.
        batch.validate(full=True)
    except unreadable as error:
        message = f"{len(payload)} bytes that are no record batch: {error}"
        raise ValueError(message) from error
    return OpenedBatch(batch, *head)


def to_batch(rows: Iterable[Sequence[Any]], fields: Sequence[str]) -> pa.RecordBatch:
    """Tuples as a record batch, a column per field."""
    import pyarrow as pa

    columns = list(zip(*rows, strict=True))
    return pa.RecordBatch.from_arrays([pa.array(column) for column in columns], names=list(fields))


def merged(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Several batches of the same columns as one. Types may differ from one to the next where they were guessed."""
    import pyarrow as pa

    table = pa.concat_tables([pa.Table.from_batches([batch]) for batch in batches], promote_options="permissive")
    return table.combine_chunks().to_batches()[0]


def rows_of(batch: pa.RecordBatch) -> Iterable[tuple[Any, ...]]:
    """A record batch as tuples: see `values_of`."""
    return zip(*map(values_of, batch.columns), strict=True)


def values_of(column: pa.Array) -> list[Any]:
    """A column as Python values. A map is a dict there, as a struct is; a key of a map is such as a dict takes."""
    # To Arrow a map is a list of pairs. Asked for dicts, it makes a scalar object of each value first, which takes ten
    # times as long, and it has no way to make a key of a struct or of a list.
    values: list[Any] = column.to_pylist()
    return [*map(_with_dicts(column.type), values)] if _holds_maps(column.type) else values


def _holds_maps(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return pa.types.is_map(kind) or any(_holds_maps(kind.field(n).type) for n in range(kind.num_fields))


def _with_dicts(kind: pa.DataType) -> Callable[[Any], Any]:
    """What makes dicts of the maps in a value of this type."""
    import pyarrow as pa

    if not _holds_maps(kind):
        return lambda value: value
    if pa.types.is_map(kind):
        of_key, of_item = _with_dicts(kind.key_type), _with_dicts(kind.item_type)
        return _unless_none(
            lambda pairs: _dict_of([(canonical_key(of_key(key)), of_item(item)) for key, item in pairs])
        )
    if pa.types.is_struct(kind):
        of_field = {field.name: _with_dicts(field.type) for field in kind}
        return _unless_none(lambda struct: {name: of_field[name](value) for name, value in struct.items()})
    of_element = _with_dicts(kind.field(0).type)
    return _unless_none(lambda values: [of_element(value) for value in values])


def _dict_of(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        message = f"a map: wanted each key once, got {pairs!r}"
        raise ValueError(message)
    return made


def _unless_none(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else convert(value)
