"""What a doctor finds."""

from __future__ import annotations

from typing import Literal

import msgspec

__all__ = ["Finding", "Level"]

Level = Literal["ok", "warning", "error"]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was looked at."""

    level: Level
    """``error``: workers will not run, or not for long. ``warning``: they will, but not as well as they could."""
    what: str
    why: str = ""
    remedy: str = ""
    """What to do about it."""
