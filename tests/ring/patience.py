"""Waiting for a condition instead of sleeping and hoping."""

import time
from collections.abc import Callable

PATIENCE_S = 20.0


def wait_until(condition: Callable[[], object], what: str, *, patience_s: float = PATIENCE_S) -> None:
    """Returns when `condition` holds; fails when it does not for very long."""
    deadline = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline, f"waited {patience_s:g} s in vain: {what}"
        time.sleep(0.001)
