"""Frames that arrive before the assignment that they are routed by."""

from __future__ import annotations

from typing import Self

import msgspec

from penstock._native import Record

__all__ = ["EarlyFrame"]


class EarlyFrame(msgspec.Struct, frozen=True):
    """A record of the inbox with memory of its own: what a ring has lent has to come back soon."""

    target: int
    source: int
    stream: int
    assignment: int
    flags: int
    payload: bytes

    @classmethod
    def of(cls, record: Record | Self) -> Self:
        """A copy."""
        return cls(record.target, record.source, record.stream, record.assignment, record.flags, bytes(record.payload))
