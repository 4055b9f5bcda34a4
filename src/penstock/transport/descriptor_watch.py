"""Descriptors that ring a ring's bell, so that a worker sleeps in one place: its inbox ring.

A thread in C++ sleeps in epoll for all of them. It never needs the interpreter lock: a busy interpreter delays nobody's
bell, and an idle one is not woken by the thread.

    >>> import os
    >>> from penstock.transport.ring import RingReader, RingSettings
    >>> CONTROL = 1
    >>> readable, writable = os.pipe()
    >>> with RingReader.create(RingSettings(capacity_bytes=1 << 16)) as ring, DescriptorWatch(ring) as watch:
    ...     watch.add(readable, CONTROL)
    ...     written = os.write(writable, b"x")
    ...     records = ring.read_many(timeout_s=60)
    ...     records, ring.take_bell() == CONTROL, os.read(readable, 1), watch.rearm(readable)
    ([], True, b'x', True)
    >>> os.close(readable), os.close(writable)
    (None, None)
"""

from __future__ import annotations

import os
import weakref
from types import TracebackType
from typing import Self

from penstock import _native
from penstock.transport.ring import RingReader

__all__ = ["DescriptorWatch"]


class DescriptorWatch(_native.DescriptorWatch):
    """Rings the bell of one ring for any number of descriptors, each with bits of its own.

    It fires once for each `add` and `rearm`: whoever takes the bell reads until there is nothing left, and arms the
    descriptor again. The ring's memory stays mapped until the watch is closed, even if the reader is closed before.
    Remove a descriptor before you close it; one that was closed without that is forgotten.
    """

    def __init__(self, ring: RingReader) -> None:
        super().__init__(ring)
        _open_watches.add(self)

    def close(self) -> None:
        """Ends the thread and waits for its end; in a forked child, only closes its copies. Twice does nothing."""
        super().close()
        _open_watches.discard(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


_open_watches: weakref.WeakSet[DescriptorWatch] = weakref.WeakSet()


def _close_open_watches() -> None:
    """In a forked child: a copy of the epoll descriptor would keep watching for the parent after its death."""
    for watch in list(_open_watches):
        watch.close()


os.register_at_fork(after_in_child=_close_open_watches)
