"""What a cluster in a box raises on purpose."""

from __future__ import annotations

from penstock.errors import PenstockError

__all__ = ["DevClusterError"]


class DevClusterError(PenstockError):
    """A cluster in a box cannot be had, found, or do what it was asked for."""
