"""Kinds of frames."""

from penstock.transport.frames import FrameKind


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
