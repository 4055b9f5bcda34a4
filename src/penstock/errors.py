"""Everything that Penstock raises on purpose.

PenstockError
├── TopologyError                a topology cannot run; raised before anything starts
├── RunError                     a run failed
│   ├── SlotsError               Spark has fewer slots than the run needs
│   └── StartError               the workers could not start
├── ProtocolError                bytes that are no control message, or not one for us
├── CheckpointError              a checkpoint cannot be written, read, or gone on from
│   └── CheckpointTakenError     another run has taken it
├── LoadStoreError               the load store cannot be reached, read or written
├── DevClusterError              a cluster in a box cannot be had, found, or do what it was asked for
└── RingError                    something about a shared-memory ring
    ├── RingFullError            no room until the timeout
    ├── RingClosedError          the ring, or this end of it, is closed: route elsewhere
    ├── RingAttachError          these two processes cannot share this ring: use a network link
    ├── RingMemoryError          the memory for a ring cannot be had, or is not a ring's
    ├── RingCorruptError         a peer wrote what no correct peer writes: give the ring up
    └── MessageTooLargeError     a message beyond a limit that the text names
"""

from __future__ import annotations

__all__ = [
    "CheckpointError",
    "CheckpointTakenError",
    "DevClusterError",
    "LoadStoreError",
    "MessageTooLargeError",
    "PenstockError",
    "ProtocolError",
    "RingAttachError",
    "RingClosedError",
    "RingCorruptError",
    "RingError",
    "RingFullError",
    "RingMemoryError",
    "RunError",
    "SlotsError",
    "StartError",
    "TopologyError",
]


class PenstockError(Exception):
    """The root of all errors that Penstock raises on purpose."""


class RingError(PenstockError):
    """Something about a shared-memory ring."""


class RingFullError(RingError):
    """The ring stayed full until the timeout.

    A message that fits one record was not written. One that travels in packets may still arrive, if all of them were
    sent and only its settlement was late.

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


class ProtocolError(PenstockError):
    """Bytes that are no control message, or one of another version, or one that is not meant for us."""


class CheckpointError(PenstockError):
    """A checkpoint cannot be written, read, or gone on from; the text names the place."""


class CheckpointTakenError(CheckpointError):
    """Another run has taken the checkpoint: this one must not go on."""


class LoadStoreError(PenstockError):
    """The load store cannot be reached, read or written; the text names the place."""


class DevClusterError(PenstockError):
    """A cluster in a box cannot be had, found, or do what it was asked for."""


class TopologyError(PenstockError):
    """A topology cannot run. Raised before anything starts; the text lists every problem found."""


class RunError(PenstockError):
    """A run failed. The text ends with the worker's traceback where there is one.

    User code may raise it too: any other exception fails a tuple, this one ends the run.
    """


class SlotsError(RunError):
    """Spark has fewer slots than the run needs. The text has the arithmetic."""


class StartError(RunError):
    """The workers could not start."""
