"""The ring: one process reads, many write, nothing is copied twice and nothing blocks.

A reader makes the ring and tells writers its address; each writer attaches and writes:

    >>> reader = RingReader.create(RingSettings(capacity_bytes=1 << 16))
    >>> writer = RingWriter.attach(reader.address)
    >>> writer.write(b"hello", Route(target=7))
    >>> record = reader.read(timeout_s=1)
    >>> record.target, bytes(record.payload)
    (7, b'hello')
    >>> writer.close()
    >>> reader.close()

The memory layout and the protocol are explained in docs/ring.md; the mechanism is in native/penstock/.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import weakref
from types import TracebackType
from typing import Self

import msgspec

from penstock import _native
from penstock._native import Record, Route
from penstock.errors import RingAttachError, RingClosedError, RingError, RingMemoryError
from penstock.transport.door import Admission, Door
from penstock.transport.memory_limit import free_memory_limit
from penstock.transport.process_identity import ProcessIdentity

__all__ = ["Record", "RingCounters", "RingReader", "RingSettings", "RingWriter", "Route", "Stall"]


# What a ring takes beside its data: see native/penstock/layout.hpp.
_BYTES_PER_PRODUCER = 256
_BYTES_BESIDE = 8192


class RingSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How large a ring is and how its reader waits."""

    capacity_bytes: int = 8 << 20
    """A power of two. One record takes an eighth at most; larger messages travel in packets."""

    max_message_bytes: int = 64 << 20
    """The largest message that may be sent, packets or not."""

    max_producers: int = 128
    """How many writers can be attached at once."""

    max_spin_us: int = 0
    """How long the reader spins before it sleeps, at most, while records come that fast; 0 never spins.

    Only worth it where the machine has a core to spare for each reader. More than 20 counts as 20.
    """


class RingCounters(msgspec.Struct, frozen=True, kw_only=True):
    """What a ring has seen since it was made, by all producers and consumers together."""

    records_written: int
    bytes_written: int
    full_waits: int
    """Times a write found the ring full and had to wait."""
    wakes: int
    """Times a write had to wake the reader: the only time that it makes a system call."""
    records_read: int
    bytes_read: int
    stalls: int
    """Claims that the reader went around because they were not ready yet."""
    recovered_records: int
    """Claims that dead producers left unfinished, and whose space came back."""
    recovered_bytes: int
    dropped_messages: int
    """Large messages that never got all their packets."""
    sleeps: int
    used_bytes: int
    """Bytes that are claimed and not free again yet, just now."""


class Stall(msgspec.Struct, frozen=True, kw_only=True):
    """A claim that the reader went around and whose producer has not finished it since."""

    producer: int
    pid: int
    held_bytes: int
    for_s: float


class RingReader(_native.ReadEnd):
    """The reading end, and the owner of the ring. One thread reads; a thread of its own minds the door."""

    def __init__(self, settings: RingSettings, memory_fd: int | None = None) -> None:
        me = ProcessIdentity.current()
        super().__init__(
            memory_fd=memory_fd,
            capacity_bytes=settings.capacity_bytes,
            max_producers=settings.max_producers,
            max_message_bytes=settings.max_message_bytes,
            nonce=secrets.randbits(63),
            max_spin_ns=settings.max_spin_us * 1000,
            pid=me.pid,
            start_time=me.start_time,
            pid_namespace=me.pid_namespace,
        )
        self._door = Door(self)
        _open_ends.add(self)

    @classmethod
    def create(cls, settings: RingSettings | None = None) -> Self:
        """Makes a ring. Raises RingMemoryError if there is no memory for it."""
        settings = settings or RingSettings()
        limit = free_memory_limit()
        wanted_bytes = settings.capacity_bytes + settings.max_producers * _BYTES_PER_PRODUCER + _BYTES_BESIDE
        if limit is not None and wanted_bytes > limit.free_bytes:
            message = (
                f"no memory for a ring: capacity_bytes={settings.capacity_bytes}, but the memory limit in "
                f"{limit.source} leaves {limit.free_bytes} bytes, and the ring takes {wanted_bytes}; make it smaller "
                "or raise the limit"
            )
            raise RingMemoryError(message)
        return cls(settings)

    @classmethod
    def resume(cls, memory_fd: int, *, max_spin_us: int = RingSettings().max_spin_us) -> Self:
        """Takes over the ring of a dead reader. What it had not finished is read again; nothing is lost.

        Any process that is attached has the descriptor (`memory_fd`). Refused while the old reader may still live.
        """
        pid, start_time, pid_namespace = _native.consumer_of(memory_fd)
        old = ProcessIdentity(pid=pid, start_time=start_time, pid_namespace=pid_namespace)
        closed_here = old == ProcessIdentity.current() and not any(
            isinstance(end, RingReader) and os.path.sameopenfile(end.memory_fd, memory_fd) for end in _open_ends
        )
        if not closed_here and not old.is_provably_dead():
            message = f"the ring's reader, pid={old.pid}, is not proven dead: two readers would corrupt the ring"
            raise RingAttachError(message)
        return cls(RingSettings(max_spin_us=max_spin_us), memory_fd)

    @property
    def address(self) -> str:
        """What a writer attaches to. Valid on this host, in this network namespace, for this user."""
        return self._door.address

    def read(self, timeout_s: float | None = None) -> Record | None:
        """Takes one record; None if none came in time, or somebody rang the bell.

        `timeout_s=None` waits for ever, 0 does not wait.
        """
        records = self.read_many(1, timeout_s)
        return records[0] if records else None

    def stalls(self) -> list[Stall]:
        """Who keeps the ring's space from coming back, and for how long."""
        return [
            Stall(producer=slot, pid=pid, held_bytes=held, for_s=ns / 1e9)
            for slot, pid, held, ns in self.native_stalls()
        ]

    def counters(self) -> RingCounters:
        """The ring's counters, as they are now."""
        return RingCounters(**self.native_counters())

    def close(self) -> None:
        """Ends the ring: writers get RingClosedError. Payloads that were lent stay valid."""
        with contextlib.suppress(
            RingError
        ):  # closed already, or another thread reads: then its last records come again
            self.finish()
        with contextlib.suppress(RingClosedError):
            self.close_to_writers()
        self._door.close()
        self.abandon()
        _open_ends.discard(self)

    def abandon_after_fork(self) -> None:
        """Forgets the ring in a forked child: it is the parent's."""
        self._door.close_after_fork()
        self.abandon()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class RingWriter(_native.WriteEnd):
    """A writing end. Threads may share it; each process attaches its own."""

    def __init__(self, admission: Admission) -> None:
        self._admission = admission
        try:
            super().__init__(memory_fd=admission.memory_fd, slot=admission.slot, door_fd=admission.connection.fileno())
            if self.nonce != admission.nonce:
                message = f"the ring at {admission.address!r} handed out another ring's memory"
                raise RingAttachError(message)
            admission.take()
        except BaseException:
            with contextlib.suppress(TypeError):  # not even made
                self.abandon()
            admission.close()
            raise
        _open_ends.add(self)

    @classmethod
    def attach(cls, address: str, timeout_s: float = 5.0) -> Self:
        """Attaches to the ring at `address`.

        Raises:
            RingAttachError: this process cannot share memory with the ring's reader; the text says why. Use a
                network link instead.
        """
        return cls(Admission.ask(address, timeout_s=timeout_s))

    @property
    def door_fd(self) -> int:
        """The descriptor that turns readable when the reader's process is gone."""
        return self._admission.connection.fileno()

    def reattach(self, address: str, timeout_s: float = 5.0) -> None:
        """Meets a reader that resumed this ring, at its new address, so that each learns of the other's death."""
        admission = Admission.ask(address, timeout_s=timeout_s, known_slot=self.slot, known_nonce=self.nonce)
        admission.take()
        self.meet_consumer(door_fd=admission.connection.fileno())
        self._admission.close()
        self._admission = admission

    def counters(self) -> RingCounters:
        """The ring's counters, as they are now."""
        return RingCounters(**self.native_counters())

    def close(self) -> None:
        """Detaches. What was written stays written."""
        self.leave()
        self._admission.close()
        _open_ends.discard(self)

    def abandon_after_fork(self) -> None:
        """Forgets the ring in a forked child: it is the parent's."""
        self.abandon()
        self._admission.close()

    def __del__(self) -> None:
        # Forgotten without close(): the slot and the descriptors must not stay taken until the process ends.
        with contextlib.suppress(Exception):
            if not self.closed:
                self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


_open_ends: weakref.WeakSet[RingReader | RingWriter] = weakref.WeakSet()


def _abandon_open_ends() -> None:
    """In a forked child: a copied socket would hide the parent's death, and a copied end would write as the parent."""
    for end in list(_open_ends):
        end.abandon_after_fork()
    _open_ends.clear()


os.register_at_fork(after_in_child=_abandon_open_ends)
