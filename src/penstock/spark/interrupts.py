"""Ctrl-C while a run is waited for."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator

__all__ = ["plain_interrupts"]


@contextlib.contextmanager
def plain_interrupts() -> Iterator[None]:
    """Makes Ctrl-C a KeyboardInterrupt and nothing else.

    PySpark's own handler cancels all jobs first. That kills every worker of every run, before any can be told to stop.
    """
    if threading.current_thread() is not threading.main_thread():  # signals are the main thread's
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    # None: not set from Python. Ignored: the user is not to interrupt, such as under nohup.
    if before in (None, signal.SIG_IGN, signal.default_int_handler):
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
