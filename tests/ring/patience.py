"""Waiting for a condition instead of sleeping and hoping."""

import time
from collections.abc import Callable

# Only a test that fails waits so long. On a busy machine a process may take many seconds to start, or to get a turn.
PATIENCE_S = 100.0


def wait_until(condition: Callable[[], object], what: str, *, patience_s: float = PATIENCE_S) -> None:
    """Returns when `condition` holds; fails when it does not for very long."""
    deadline = time.monotonic() + patience_s
    while True:
        asked_at_s = time.monotonic()
        if condition():
            return
        answered_at_s = time.monotonic()
        assert answered_at_s < deadline, f"waited {patience_s:g} s in vain: {what}"
        # Who is waited for needs the processor too: what is dear to ask is asked half of the time.
        time.sleep(max(0.001, answered_at_s - asked_at_s))
