"""Both ends of links, for tests."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import zmq

from penstock._native import pack_link_head
from penstock.transport.links import LinkKeys, LinkReceiver, LinkSender
from penstock.transport.ring import RingReader, RingSettings, Route
from tests.ring.patience import wait_until

ROUTE = Route(target=1, source=2, stream=3, assignment=4, flags=0)


@contextmanager
def receiving(
    keys: LinkKeys, *, capacity_bytes: int = 1 << 20, max_message_bytes: int = 64 << 20
) -> Iterator[tuple[RingReader, LinkReceiver]]:
    settings = RingSettings(capacity_bytes=capacity_bytes, max_message_bytes=max_message_bytes)
    with (
        RingReader.create(settings) as ring,
        LinkReceiver(host="127.0.0.1", ring_address=ring.address, keys=keys, high_water_frames=10) as receiver,
    ):
        yield ring, receiver


@contextmanager
def sending(endpoint: str, keys: LinkKeys, *, high_water_frames: int = 10) -> Iterator[LinkSender]:
    sender = LinkSender(endpoint=endpoint, keys=keys, high_water_frames=high_water_frames)
    try:
        yield sender
    finally:
        sender.close()


@contextmanager
def raw_socket(keys: LinkKeys) -> Iterator["zmq.Socket[bytes]"]:
    """A socket of a peer that holds the run's keys, not connected yet."""
    with zmq.Context() as context, context.socket(zmq.PUSH) as socket:
        socket.linger = 0
        socket.curve_serverkey = keys.public
        socket.curve_publickey, socket.curve_secretkey = keys.public, keys.secret
        yield socket


def frame(link: int, number: int, payload: bytes = b"frame") -> bytes:
    return pack_link_head(link, number, ROUTE) + payload


def send(sender: LinkSender, *payloads: bytes) -> None:
    for payload in payloads:
        wait_until(partial(sender.try_send, ROUTE, payload), "room to send")


def read(ring: RingReader, count: int) -> list[bytes]:
    found: list[bytes] = []

    def enough() -> bool:
        found.extend(bytes(record.payload) for record in ring.read_many(64, 0.01))
        return len(found) >= count

    wait_until(enough, f"{count} frames")
    return found


def fill(ring: RingReader, sender: LinkSender) -> None:
    """Sends until the ring takes no more."""

    def is_full() -> bool:
        sender.try_send(ROUTE, bytes(300))
        return ring.counters().full_waits > 0

    wait_until(is_full, "a full ring")
