"""The native decoder of tuples and reader of keys, held to msgspec and to plain Python."""

from __future__ import annotations

import gc
import math
import sys
import tracemalloc
import weakref
from operator import attrgetter
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from penstock._native import KeyReader, TupleDecoder
from penstock.topology.tuples import tuple_class
from penstock.transport.canonical_key import canonical_keys
from penstock.transport.values import portable_rows, row_decoder

Pair = tuple_class("split", "default", ("word", "count"))
FIELDS = ("word", "count")

reference = row_decoder(tuple[int, int, int, list[tuple[int, int]], list[Pair]])  # type: ignore[valid-type]
borders = [sign * (1 << bits) + off for bits in range(65) for sign in (1, -1) for off in (-1, 0, 1)]
integers = st.integers(-(2**63), 2**64 - 1) | st.sampled_from([each for each in borders if -(2**63) <= each < 2**64])
plain = st.none() | st.booleans() | integers | st.floats() | st.text() | st.binary()
nested = st.recursive(plain, lambda each: st.lists(each, max_size=3) | st.dictionaries(st.text(), each, max_size=3))
runs = st.lists(st.tuples(integers, integers), max_size=4)


def decoder() -> tuple[TupleDecoder, list[bytes]]:
    """A decoder, and the payloads that it leaves to msgspec."""
    left: list[bytes] = []

    def other(payload: Any) -> Any:
        left.append(bytes(payload))
        return reference(payload)

    return TupleDecoder(Pair, FIELDS, other), left


def payload_of(values: Any) -> bytes:
    return msgspec.msgpack.encode(values)


def test_a_frame_is_read_as_msgspec_reads_it() -> None:
    decode, left = decoder()

    @given(integers, integers, integers, runs, st.lists(st.tuples(plain, plain), max_size=40))
    @example(0, 0, 0, [], [("", b""), ("a" * 33, "ä"), ("", -0.0), ("w" * 32, "x" * 70_000), (b"y" * 300, 2**64 - 1)])
    @example(-1, 1, 2, [(1, 2)], [("word", 1)] * 70_000)
    def check(origin_ns: int, sent_ns: int, frame: int, trees: list[tuple[int, int]], rows: list[Any]) -> None:
        payload = payload_of((origin_ns, sent_ns, frame, trees, rows))
        decoded = decode(payload)
        assert repr(decoded) == repr(reference(payload))  # NaN, True and 1 included
        assert {type(tup) for tup in decoded[4]} <= {Pair}
        assert repr(decode(memoryview(payload))) == repr(decoded)
        assert not left

    check()


@given(st.lists(st.tuples(nested, nested), max_size=5))
def test_what_is_not_plain_is_left_to_msgspec(rows: list[Any]) -> None:
    decode, left = decoder()
    payload = payload_of((1, 2, 3, [], portable_rows(rows)))
    assert repr(decode(payload)) == repr(reference(payload))
    holds_more = any(isinstance(value, list | dict) for row in rows for value in row)
    assert bool(left) == holds_more


@given(st.data())
def test_damaged_payloads_are_read_or_refused_as_msgspec_does(data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.tuples(plain, plain), max_size=4))
    payload = bytearray(payload_of((1, 2, 3, data.draw(runs), rows)))
    for _ in range(data.draw(st.integers(1, 3))):
        payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(payload[: data.draw(st.integers(0, len(payload)))]) + data.draw(st.binary(max_size=2))
    decode, _ = decoder()
    assert outcome(decode, cut) == outcome(reference, cut)


def outcome(decode: Any, payload: bytes) -> str:
    try:
        return repr(decode(payload))
    except (msgspec.MsgspecError, ValueError) as error:
        return f"{type(error).__name__}: {error}"


def test_every_prefix_of_a_payload_is_refused() -> None:
    payload = payload_of((1, 2, 3, [(4, 5)], [("word", 1.5), (b"bytes", -70_000), (None, "x" * 300)]))
    decode, _ = decoder()
    for size in range(len(payload)):
        with pytest.raises(msgspec.DecodeError):
            decode(payload[:size])


def test_an_array_that_says_it_is_huge_takes_no_memory() -> None:
    count = b"\xdd\x00\xff\xff\xff"
    for huge in (b"\x95\x01\x02\x03" + count, b"\x95\x01\x02\x03\x90" + count):
        decode, left = decoder()
        tracemalloc.start()
        try:
            with pytest.raises(msgspec.DecodeError):
                decode(huge)
            assert tracemalloc.get_traced_memory()[1] < 1_000_000, "16 million items would take 128 MB"
        finally:
            tracemalloc.stop()
        assert left == [huge]


def test_after_a_frame_that_is_not_plain_some_are_left_to_msgspec() -> None:
    decode, left = decoder()
    plain, other = (payload_of((1, 2, 3, [], [(value, 1)])) for value in ("word", ["word"]))
    decode(other)
    for _ in range(40):
        assert repr(decode(plain)) == repr(reference(plain))
    assert left[0] == other
    assert 1 < len(left) < 30, "then it is tried again"


def test_a_text_that_comes_again_is_the_same_object() -> None:
    decode, _ = decoder()
    payload = payload_of((1, 2, 3, [], [("word", 1), ("word", 2), ("other", 3)]))
    first, second, other = (tup.word for tup in decode(payload)[4])
    assert first is second
    assert first is decode(payload)[4][0].word
    assert other == "other"


def test_texts_that_share_a_place_are_told_apart() -> None:
    """More texts than are kept, of every short length, twice: each is what it was."""
    words = [f"{number:0{width}d}" for width in range(1, 36) for number in range(min(10**width, 900))]
    decode, _ = decoder()
    for _ in range(2):
        decoded = decode(payload_of((1, 2, 3, [], [(word, 0) for word in words])))
        assert [tup.word for tup in decoded[4]] == words


def test_a_decoder_keeps_nothing_that_it_gave_out_but_short_texts() -> None:
    decode, _ = decoder()
    payload = payload_of((1, 2, 3, [], [(b"some bytes", 2.5), ("a longer text, longer than those kept", 7)] * 50))
    decode(payload)
    before = sys.getallocatedblocks()
    for _ in range(200):
        decode(payload)
    assert sys.getallocatedblocks() - before < 100


def test_a_decoder_is_collected_with_the_cycle_that_it_is_part_of() -> None:
    class Other:
        def __call__(self, payload: Any) -> Any: ...

    other = Other()
    other.decoder = TupleDecoder(Pair, FIELDS, other)  # type: ignore[attr-defined]
    other.keys = KeyReader(Pair, FIELDS, other)  # type: ignore[attr-defined]
    gone = weakref.ref(other)
    del other
    gc.collect()
    assert gone() is None


def test_classes_that_are_none_of_tuples_are_refused() -> None:
    class Collected(msgspec.Struct):
        word: str

    class Plain:
        word = "a"

    with pytest.raises(TypeError, match="without gc"):
        TupleDecoder(Collected, ("word",), reference)
    with pytest.raises(TypeError, match="slots"):
        TupleDecoder(Plain, ("word",), reference)
    with pytest.raises(KeyError):
        TupleDecoder(Pair, ("none",), reference)
    with pytest.raises(ValueError, match="at least"):
        KeyReader(Pair, (), canonical_keys)


keys = plain | st.lists(plain, max_size=2) | st.tuples(plain) | st.decimals() | st.datetimes()


@pytest.mark.parametrize("fields", [("word",), ("count",), ("count", "word")])
def test_keys_are_those_of_python(fields: tuple[str, ...]) -> None:
    read = KeyReader(Pair, fields, canonical_keys)
    key_of = attrgetter(*fields)

    @given(st.lists(st.builds(Pair, keys, keys), max_size=6), st.booleans())
    @example([Pair(math.nan, -0.0), Pair("a", 1)], True)
    def check(tuples: list[Any], as_tuple: bool) -> None:
        wanted = canonical_keys([*map(key_of, tuples)])
        assert repr(read(tuple(tuples) if as_tuple else tuples)) == repr(wanted)

    check()


def test_keys_are_read_of_tuples_of_one_stream_alone() -> None:
    read = KeyReader(Pair, ("word",), canonical_keys)
    with pytest.raises(TypeError, match="another stream"):
        read([Pair("a", 1), ("b", 2)])
    with pytest.raises(TypeError, match="sequence"):
        read(3)  # type: ignore[arg-type]
