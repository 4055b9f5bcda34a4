"""The loop between two calls of user code, in plain Python: what the one in C++ is held to.

It is written to be read, and does what `penstock._native.Emitter` says, tuple by tuple, without any memory of keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from penstock.topology.emit import Emit, not_an_output
from penstock.topology.tuples import Tuple
from penstock.transport.canonical_key import canonical_key
from penstock.transport.stable_hash import stable_hash
from penstock.worker.failures import USER_ERRORS

Put = Callable[[tuple[Any, ...]], object]
Fail = Callable[[BaseException, Any], None]
ONE = (Emit, tuple, Tuple, pa.RecordBatch, str, bytes, bytearray, memoryview, dict)


def to_each(lists: Sequence[list[Any]]) -> Put:
    def put(values: tuple[Any, ...]) -> None:
        for one in lists:
            one.append(values)

    return put


def in_turn(lists: Sequence[list[Any]]) -> Put:
    given = 0

    def put(values: tuple[Any, ...]) -> None:
        nonlocal given
        lists[given % len(lists)].append(values)
        given += 1

    return put


def by_key(lists: Sequence[list[Any]], positions: Sequence[int]) -> Put:
    def put(values: tuple[Any, ...]) -> None:
        key: Any = tuple(values[position] for position in positions)
        if len(positions) == 1:
            (key,) = key
        lists[stable_hash(canonical_key(key)) % len(lists)].append(values)

    return put


class ReferenceEmitter:
    """Emits to one stream."""

    def __init__(self, puts: Sequence[Put], piece_tuples: int) -> None:
        self._puts = puts
        self._piece_tuples = piece_tuples
        self.emitted = 0

    def emit_one(self, output: Any) -> None:
        if output is None:
            return
        if isinstance(output, Emit):
            output = output.values
            if not isinstance(output, tuple | list | Tuple):
                raise not_an_output(output)
        elif not isinstance(output, tuple | Tuple):
            raise not_an_output(output)
        for put in self._puts:
            put(tuple(output))
        self.emitted += 1

    def emit_or_refuse(self, output: Any, refuse: Fail) -> None:
        try:
            self.emit_one(output)
        except USER_ERRORS as error:
            refuse(error, output)

    def pieces_of(self, outputs: Iterator[Any], refuse: Fail) -> Iterator[None]:
        """All of them. It yields after each full piece, the last one included."""
        full_at = self.emitted + self._piece_tuples
        for output in outputs:
            self.emit_or_refuse(output, refuse)
            if self.emitted >= full_at:
                yield
                full_at = self.emitted + self._piece_tuples

    def run_calls(
        self, process: Callable[..., Any], tuples: Sequence[Any], keys: Sequence[Any] | None, fail: Fail
    ) -> Iterator[None]:
        """Of a function that returns what it emits."""
        for index, tup in enumerate(tuples):
            try:
                out = process(tup) if keys is None else process(keys[index], tup)
                if type(out) is tuple:
                    self.emit_or_refuse(out, fail)
                elif type(out) is list and len(out) <= self._piece_tuples:
                    for output in out:
                        self.emit_one(output)
                elif isinstance(out, ONE) or not isinstance(out, Iterable):
                    self.emit_one(out)
                else:
                    yield from self.pieces_of(iter(out), fail)
            except USER_ERRORS as error:
                fail(error, tup)

    def run_generators(
        self, process: Callable[..., Any], tuples: Sequence[Any], keys: Sequence[Any] | None, fail: Fail
    ) -> Iterator[None]:
        """Of a generator function: pieces do not end where a generator does, unless it raises."""
        full_at = self.emitted + self._piece_tuples
        for index, tup in enumerate(tuples):
            try:
                for output in process(tup) if keys is None else process(keys[index], tup):
                    self.emit_or_refuse(output, fail)
                    if self.emitted >= full_at:
                        yield
                        full_at = self.emitted + self._piece_tuples
            except USER_ERRORS as error:
                fail(error, tup)
                full_at = self.emitted + self._piece_tuples
