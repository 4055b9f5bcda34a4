"""What is said at a ring's door, by a process of the same user that is no writer: refused, and the door stays open."""

from __future__ import annotations

import os
import random
import socket

import msgspec
import pytest

from penstock.transport.ring import RingReader, RingSettings, RingWriter

GREETINGS = {
    "a tag that is no text": b"\x94\xa6_Hel\xff\xfe\x01\xc0\xc0",
    "nested without end": b"\x95\xa6_Hello\x01\xc0\xc0" + b"\x91" * 4000 + b"\xc0",
    "a length that lies": b"\xdd\xff\xff\xff\xff",
    "nothing but zeros": bytes(4096),
    "noise": random.Random(3).randbytes(4000),
    "somebody else's slot": msgspec.msgpack.encode(["_Hello", 1, 2**62, -(2**62)]),
    "more than fits": msgspec.msgpack.encode(["_Hello", 1, None, None]) + bytes(60_000),
}


@pytest.mark.parametrize("said", GREETINGS)
def test_what_is_no_greeting_is_refused_and_the_next_writer_gets_in(said: str) -> None:
    with RingReader.create(RingSettings(capacity_bytes=1 << 14, max_producers=2)) as ring:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as stranger:
            stranger.settimeout(100)
            stranger.connect("\0" + ring.address)
            stranger.send(GREETINGS[said])
            answer, descriptors, _, _ = socket.recv_fds(stranger, 4096, 4)
        for descriptor in descriptors:
            os.close(descriptor)

        assert b"_Refusal" in answer
        assert descriptors == []
        RingWriter.attach(ring.address, timeout_s=100).close()
