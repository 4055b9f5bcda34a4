"""The board: how much each worker of a node has to send, for the others to see.

Each worker has a slot, in memory that the others have mapped in any case: the control block of its ring (see
native/penstock/layout.hpp). So nobody has to make the board or to tidy it away, and a slot goes with its worker.

    in the ring's control block, from byte 896:
    0            8     12    16                          128
    │ written_ns │ [0] │ [1] │ ... [MOST_OPERATORS - 1]  │
      int64        uint32 each: the largest backlog of any of the worker's tasks of that operator, in tuples

`written_ns` is the machine's steady clock, which all processes of a node share. A slot that nobody has written to for
`AGED_NS` says nothing: its worker is dead, or stopped, or busy with one tuple for that long. A slot is written by its
worker alone, and read without a lock: a reading that is torn costs somebody a turn.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Sequence

__all__ = ["AGED_NS", "MOST_OPERATORS", "BoardSlot"]

MOST_OPERATORS = 30
"""Operators beyond that are not on the board: their workers do not give way to each other."""

AGED_NS = 100_000_000
"""How long a slot counts."""

_AT = 896
_SLOT = struct.Struct(f"=q{MOST_OPERATORS}I")
_MOST = 0xFFFF_FFFF


class BoardSlot:
    """The slot of one worker, at the ring that this descriptor is of. It has a mapping of its own."""

    def __init__(self, memory_fd: int) -> None:
        self._memory = mmap.mmap(memory_fd, _AT + _SLOT.size)
        self._is_clear = True

    def write(self, backlogs: Sequence[int], now_ns: int) -> None:
        """Says how much there is, by operator. Only the worker whose slot it is does that."""
        is_clear = not any(backlogs)
        if is_clear and self._is_clear:
            return
        self._is_clear = is_clear
        some = [min(backlog, _MOST) for backlog in backlogs[:MOST_OPERATORS]]
        _SLOT.pack_into(self._memory, _AT, now_ns, *some, *[0] * (MOST_OPERATORS - len(some)))

    def read(self, now_ns: int) -> Sequence[int]:
        """What its worker has said; nothing if that is too long ago."""
        written_ns, *backlogs = _SLOT.unpack_from(self._memory, _AT)
        return backlogs if 0 <= now_ns - written_ns < AGED_NS else ()

    def close(self) -> None:
        """Lets go of the memory."""
        self._memory.close()
