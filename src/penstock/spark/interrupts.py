"""Ctrl-C while a run is waited for."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator

__all__ = ["held_interrupts", "plain_interrupts", "terminated_like_interrupted"]


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


@contextlib.contextmanager
def held_interrupts() -> Iterator[None]:
    """Keeps Ctrl-C back until the end, and raises KeyboardInterrupt then.

    PySpark that is interrupted while it starts its JVM leaves it behind, with nobody to stop it.
    """
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) in (
        None,
        signal.SIG_IGN,
    ):
        yield
        return
    interrupted = False

    def remember(number: int, frame: object) -> None:  # noqa: ARG001
        nonlocal interrupted
        interrupted = True

    before = signal.signal(signal.SIGINT, remember)
    try:
        yield
    finally:
        # PySpark has put its own handler in place of ours by now; that one may stay.
        if signal.getsignal(signal.SIGINT) is remember:
            signal.signal(signal.SIGINT, before)
        if interrupted:
            raise KeyboardInterrupt


@contextlib.contextmanager
def terminated_like_interrupted() -> Iterator[None]:
    """Makes SIGTERM, as service managers and containers send it, end a run in good order like Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: object) -> None:  # noqa: ARG001
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
