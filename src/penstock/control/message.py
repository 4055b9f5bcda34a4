"""What all control messages have in common."""

from __future__ import annotations

from typing import ClassVar

import msgspec

__all__ = ["Message"]


class Message(msgspec.Struct, frozen=True, kw_only=True, tag=True, tag_field="type"):
    """The base of all messages."""

    counts: ClassVar[bool] = True
    """Whether its loss matters: see numbering."""
