"""Waiting for a condition instead of sleeping and hoping."""

import time
from collections.abc import Callable

PATIENCE_S = 20.0


def wait_until(condition: Callable[[], object], what: str) -> None:
    """Returns when `condition` holds; fails when it does not for very long."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"waited {PATIENCE_S:g} s in vain: {what}"
        time.sleep(0.001)
