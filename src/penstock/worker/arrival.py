"""What waits in a task's queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgspec

from penstock.flow.ledger import UNTRACKED
from penstock.flow.runs import Runs

__all__ = ["Arrival", "Marker"]

_decode_marker = msgspec.msgpack.Decoder(tuple[int, bool, dict[int, int], int]).decode

EMPTY: Mapping[int, int] = MappingProxyType({})

LOCAL = -1
"""The sender of what comes from a task of the same worker: it needs no credit."""


class Marker:
    """The end of an epoch, from one task on one edge; `ends` says that nothing follows it.

    A *switch* is another kind: what follows it comes from another place, or goes to one (see penstock.worker.moving).
    It says nothing of epochs.
    """

    __slots__ = ("ends", "epoch", "newest_roots", "switch")

    def __init__(self, epoch: int, *, ends: bool, newest_roots: Mapping[int, int] = EMPTY, switch: int = 0) -> None:
        self.epoch = epoch
        self.ends = ends
        self.switch = switch
        """The number of the assignment by which the channel is laid from here on; 0 for any other marker."""
        self.newest_roots = newest_roots
        """By task that keeps trees: up to which root they began before it. Told where somebody gathers answers."""

    def to_payload(self) -> bytes:
        """As it travels: see FrameKind.MARKER."""
        return msgspec.msgpack.encode((self.epoch, self.ends, dict(self.newest_roots), self.switch))

    @classmethod
    def from_payload(cls, payload: bytes | memoryview) -> Marker:
        """As it came; raises one of `UNREADABLE` if it is none."""
        epoch, ends, newest_roots, switch = _decode_marker(payload)
        return cls(epoch, ends=ends, newest_roots=newest_roots, switch=switch)


class Arrival(msgspec.Struct, kw_only=True, gc=False, eq=False):
    """A frame as a task sees it: tuples, or a record batch, or a marker; never two of them."""

    edge: int
    source: int
    assignment: int = 0
    """The one by which its channel was laid."""
    sender: int = LOCAL
    size_bytes: int = 0
    origin_ns: int = 0
    sent_ns: int = 0
    frame: int = UNTRACKED
    """Its number, by which it is counted where trees are tracked."""
    runs: Runs = ()
    """The trees that its tuples belong to, where that is tracked. A record batch belongs to one, and counts as one."""
    tuples: Sequence[Any] = ()
    batch: Any = None
    marker: Marker | None = None
    cast: Any = None
    """Where it is noted that it was processed, if it was broadcast (see penstock.worker.cast_receiver)."""
    number: int = 0
    """Its number there."""
    combined: bool = False
    """Whether it holds one tuple that stands for several. Then its runs are theirs; see flow/combining."""

    def __len__(self) -> int:
        """How many tuples it holds."""
        return self.batch.num_rows if self.batch is not None else len(self.tuples)
