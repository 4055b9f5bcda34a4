"""A frame's header, as links carry it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.transport.frames import HEADER_BYTES, FrameKind, pack_header, unpack_header
from penstock.transport.ring import Route

numbers = st.integers(0, 2**32 - 1)


def as_tuple(route: Route) -> tuple[int, ...]:
    return route.target, route.source, route.stream, route.assignment, route.flags


@given(numbers, numbers, numbers, numbers, st.sampled_from(FrameKind))
def test_a_header_survives_the_link(target: int, source: int, stream: int, assignment: int, kind: FrameKind) -> None:
    route = Route(target=target, source=source, stream=stream, assignment=assignment, flags=kind)
    packed = pack_header(route)

    assert len(packed) == HEADER_BYTES
    assert as_tuple(unpack_header(packed)) == as_tuple(route)


@pytest.mark.parametrize("wrong", [b"", b"short", bytes(HEADER_BYTES - 1), bytes(HEADER_BYTES + 1)], ids=len)
def test_what_is_no_header_is_refused(wrong: bytes) -> None:
    with pytest.raises(ValueError, match=f"wanted={HEADER_BYTES}|must have {HEADER_BYTES} bytes, got {len(wrong)}"):
        unpack_header(wrong)


def test_kinds_never_change_their_number() -> None:
    """Workers of one run have one version, but a number that moves unnoticed is a frame misread."""
    assert {kind.name: kind.value for kind in FrameKind} == {
        "TUPLES": 0,
        "BATCH": 1,
        "MARKER": 2,
        "CREDIT": 3,
        "NEWS": 4,
        "PASSED": 5,
        "CAST": 6,
        "TREE": 7,
        "GOT": 8,
        "COMBINED": 9,
        "MET": 10,
        "HANDOVER": 11,
        "TAKEN": 12,
        "SWITCHED": 13,
        "CLEARED": 14,
        "PRESSURE": 15,
        "ANSWER": 16,
        "WANTED": 17,
        "OFFER": 18,
        "LOAN": 19,
        "REPAID": 20,
        "FAILED": 21,
    }
