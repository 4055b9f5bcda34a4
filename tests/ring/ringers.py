"""Processes that ring a ring's bell: these functions run in children of the nursery."""

from __future__ import annotations

from multiprocessing.connection import Connection

from penstock.transport.ring import RingWriter
from tests.ring.victims import Strike


def attach_and_ring(channel: Connection, address: str, bits: list[int], strike: Strike | None = None) -> None:
    """Rings each of `bits` in turn, and reports when it has."""
    with RingWriter.attach(address) as writer:
        if strike is not None:
            strike.arm()
        for one in bits:
            writer.ring_bell(one)
            channel.send(one)
