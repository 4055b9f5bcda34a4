"""What Spark's exceptions say, as a person wants to read it."""

from __future__ import annotations

__all__ = ["remote_error"]


def remote_error(error: Exception) -> str:
    """An exception with the Python traceback of the executor, if there is one, and without pages of Scala."""
    text, _, _ = str(error).partition("\n\nJVM stacktrace:")  # Connect's way
    lines = [line for line in text.strip().splitlines() if not line.startswith("\tat ")]
    return "\n".join([f"{type(error).__name__}: {lines[0] if lines else ''}", *lines[1:]])
