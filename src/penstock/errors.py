"""Everything that Penstock raises on purpose.

PenstockError
└── RingError                    something about a shared-memory ring
    ├── RingFullError            no room until the timeout; nothing of the current message was written
    ├── RingClosedError          the ring, or this end of it, is closed: route elsewhere
    ├── RingAttachError          these two processes cannot share this ring: use a network link
    ├── RingMemoryError          the memory for a ring cannot be had, or is not a ring's
    ├── RingCorruptError         a peer wrote what no correct peer writes: give the ring up
    └── MessageTooLargeError     a message beyond a limit that the text names
"""

from __future__ import annotations

__all__ = [
    "MessageTooLargeError",
    "PenstockError",
    "RingAttachError",
    "RingClosedError",
    "RingCorruptError",
    "RingError",
    "RingFullError",
    "RingMemoryError",
]


class PenstockError(Exception):
    """The root of all errors that Penstock raises on purpose."""


class RingError(PenstockError):
    """Something about a shared-memory ring."""


class RingFullError(RingError):
    """The ring stayed full until the timeout.

    Attributes:
        written: how many messages of the call were written before (always 0, except for ``write_many``).
    """

    def __init__(self, message: str, written: int = 0) -> None:
        super().__init__(message)
        self.written = written


class RingClosedError(RingError):
    """The ring, or this end of it, is closed; or its consumer is gone."""


class RingAttachError(RingError):
    """This process may not, or cannot, share the ring's memory."""


class RingMemoryError(RingError):
    """The memory for a ring cannot be had, or a descriptor is not a ring's memory."""


class RingCorruptError(RingError):
    """Shared memory holds something that no correct peer writes."""


class MessageTooLargeError(RingError):
    """A message is larger than a limit; the text names both."""
