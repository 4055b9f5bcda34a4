"""The payload of a frame of plain values is what msgspec would make of it, byte for byte; others are left to Python."""

from __future__ import annotations

import math
import struct
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from penstock._native import ROWS_OTHER, ROWS_TOO_LARGE, ROWS_UNEVEN, encode_tuples
from penstock.worker.lanes import RemoteLane
from tests.worker.capturing import CapturingSender, remote_lane

MOST = 1 << 30
BORDERS = sorted({sign * (1 << bits) + off for bits in range(65) for sign in (1, -1) for off in (-1, 0, 1)})
INTEGERS = [number for number in BORDERS if -(1 << 63) <= number < 1 << 64]
NAN_WITH_BITS = struct.unpack("<d", struct.pack("<Q", 0x7FF8_0000_DEAD_BEEF))[0]

integers = st.integers(-(1 << 63), (1 << 64) - 1) | st.sampled_from(INTEGERS)
plain = (
    st.none()
    | st.booleans()
    | integers
    | st.floats()
    | st.sampled_from([-0.0, NAN_WITH_BITS])
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
    | st.binary(max_size=40)
)
widths = st.integers(0, 20)
rows_of_one_width = widths.flatmap(lambda width: st.lists(st.tuples(*[plain] * width), max_size=40))
runs = st.lists(st.tuples(st.integers(0, (1 << 64) - 1), st.integers(1, 1 << 20)), max_size=20)


class Text(str):
    """Not quite a str."""


def width_of(rows: list[tuple[Any, ...]]) -> int:
    return len(rows[0]) if rows else 0


def encoded(rows: list[tuple[Any, ...]], width: int | None = None, most_bytes: int = MOST) -> bytes | int:
    return encode_tuples(1, 2, 3, (), rows, width_of(rows) if width is None else width, most_bytes)


@given(st.tuples(*[st.integers(0, (1 << 64) - 1)] * 3), runs, rows_of_one_width)
@example((0, 0, 0), [], [])
def test_plain_rows_are_encoded_as_msgspec_does(
    stamps: tuple[int, int, int], trees: list[tuple[int, int]], rows: list[tuple[Any, ...]]
) -> None:
    expected = msgspec.msgpack.encode((*stamps, trees, rows))

    assert encode_tuples(*stamps, trees, rows, width_of(rows), MOST) == expected
    assert encode_tuples(*stamps, tuple(trees), rows, width_of(rows), MOST) == expected
    # And back again: repr tells -0.0 from 0.0, True from 1, and has one text for every NaN.
    assert repr(msgspec.msgpack.decode(expected)[4]) == repr([[*row] for row in rows])


@pytest.mark.parametrize("number", INTEGERS)
def test_integers_at_the_borders_of_all_widths(number: int) -> None:
    assert encoded([(number,)]) == msgspec.msgpack.encode((1, 2, 3, (), [(number,)]))


@pytest.mark.parametrize("length", [0, 1, 31, 32, 255, 256, 65_535, 65_536, 70_000])
@pytest.mark.parametrize("unit", ["a", "ä", "€", "𝄞", b"a"], ids=repr)
def test_lengths_at_the_borders_of_all_widths(unit: str | bytes, length: int) -> None:
    rows = [(unit * length,), (unit * length,)]
    assert encoded(rows) == msgspec.msgpack.encode((1, 2, 3, (), rows))


@pytest.mark.parametrize("count", [0, 15, 16, 65_535, 65_536])
def test_numbers_of_rows_and_values_at_the_borders_of_all_widths(count: int) -> None:
    many, wide = [(None,)] * count, [(True,) * count]
    assert encoded(many) == msgspec.msgpack.encode((1, 2, 3, (), many))
    assert encoded(wide) == msgspec.msgpack.encode((1, 2, 3, (), wide))


def test_the_bits_of_a_nan_are_kept() -> None:
    payload = encoded([(NAN_WITH_BITS,)])
    assert isinstance(payload, bytes)
    (value,) = msgspec.msgpack.decode(payload)[4][0]
    assert math.isnan(value)
    assert struct.pack("<d", value) == struct.pack("<d", NAN_WITH_BITS)


@pytest.mark.parametrize(
    "other", [1 << 64, -(1 << 63) - 1, 1 << 200, "\ud800", Text("a"), bytearray(b"a"), (1,), [1], 1j], ids=repr
)
def test_what_is_not_plain_is_left_to_others(other: Any) -> None:
    assert encoded([("a", 1), ("b", other)]) == ROWS_OTHER


@pytest.mark.parametrize("wrong", [(), ("b",), ("b", 2, 3), ["b", 2], "ab", None], ids=repr)
def test_rows_of_another_width_are_told(wrong: Any) -> None:
    assert encoded([("a", 1), wrong], width=2) == ROWS_UNEVEN


@given(rows_of_one_width, st.integers(0, 400))
def test_what_takes_more_bytes_than_it_may_is_told(rows: list[tuple[Any, ...]], most_bytes: int) -> None:
    expected = msgspec.msgpack.encode((1, 2, 3, (), rows))

    fits = len(expected) <= most_bytes
    assert encoded(rows, most_bytes=most_bytes) == (expected if fits else ROWS_TOO_LARGE)
    assert encoded(rows, most_bytes=len(expected)) == expected
    assert encoded(rows, most_bytes=len(expected) - 1) == ROWS_TOO_LARGE


odd = st.sampled_from([(1, 2), {3}, 1 << 70, "\ud800", Text("b"), object, b"x" * 400])


@given(st.lists(st.lists(plain | odd, min_size=1, max_size=3).map(tuple), max_size=30))
def test_a_lane_sends_the_same_values_whichever_way_they_are_encoded(rows: list[tuple[Any, ...]]) -> None:
    """Against a lane that knows the way in Python alone."""
    natively, plainly = CapturingSender(), CapturingSender()
    refused = []
    for sender, kind in ((natively, RemoteLane), (plainly, InPython)):
        lane = remote_lane(sender, fields=("a", "b"))
        lane.__class__ = kind
        lane.most_frame_bytes = 300
        lane.tuples += rows
        refused.append(sorted((str(one.error), repr(one.culprit)) for one in lane.flush(1, 2)))

    assert sent_by(natively) == sent_by(plainly)
    assert refused[0] == refused[1]


class InPython(RemoteLane):
    """Encodes all by msgspec."""

    def _pass_checked(self, *args: Any) -> None:
        super(RemoteLane, self)._pass_checked(*args)


def sent_by(sender: CapturingSender) -> list[str]:
    ext = lambda code, content: (code, bytes(content))  # noqa: E731
    decode = msgspec.msgpack.Decoder(ext_hook=ext).decode
    return [repr(row) for _, payload, _ in sender.frames for row in decode(payload)[4]]
