"""What is promised about tuples when something dies."""

from __future__ import annotations

from typing import Literal, TypeAlias

__all__ = ["Delivery"]

Delivery: TypeAlias = Literal["at_most_once", "at_least_once", "exactly_once"]
"""What is promised:

- ``at_most_once``: what is lost is lost, and counted.
- ``at_least_once``: every tuple is tracked, and emitted again if it fails or gets lost.
- ``exactly_once``: after a failure everything is set back to the last checkpoint, state and all.
"""
