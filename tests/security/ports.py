"""The two kinds of port that Penstock opens, with an honest peer for each that proves that it still serves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import zmq

from penstock.control.admin import AdminClient
from penstock.control.protocol import AskStatus, StatusAnswer
from penstock.control.wire import connected_dealer
from penstock.transport.links import LinkKeys, LinkReceiver, LinkSender
from penstock.transport.ring import RingReader, RingSettings, Route
from tests.control.troupe import Troupe, troupe
from tests.ring.patience import PATIENCE_S, wait_until

ROUTE = Route(target=1, source=2, stream=3, assignment=4, flags=0)


class Port:
    """One that listens, and how to see that it serves friends and has heard nothing of anybody else."""

    def __init__(self, endpoint: str, server_public: bytes, keys: LinkKeys, serves: Callable[[], None]) -> None:
        self.endpoint = endpoint
        self.server_public = server_public
        self.keys = keys
        self.serves_friends_only = serves
        """Fails the test if a friend does not get through, or if anything of a stranger did."""

    def connected(self, context: zmq.Context[zmq.Socket[bytes]], keys: LinkKeys | None = None) -> zmq.Socket[bytes]:
        """A peer with the run's keys, or others. It can say what it likes."""
        return connected_dealer(
            context, endpoint=self.endpoint, server_public=self.server_public, keys=keys or self.keys
        )


@contextmanager
def control_port() -> Iterator[Port]:
    with troupe(workers=2) as run:
        yield Port(run.server.endpoint, run.keys.server.public, run.keys.client, partial(_answers, run))


def _answers(run: Troupe) -> None:
    with AdminClient(
        endpoint=run.server.endpoint, server_public=run.keys.server.public, keys=run.keys.client
    ) as friend:
        answer = friend.ask(AskStatus(), timeout_s=PATIENCE_S)
    assert isinstance(answer, StatusAnswer)
    assert answer.status.notices == ()
    assert [worker.state for worker in answer.status.workers] == ["awaited", "awaited"]


@contextmanager
def receiving(keys: LinkKeys) -> Iterator[tuple[RingReader, LinkReceiver]]:
    with (
        RingReader.create(RingSettings(capacity_bytes=1 << 20)) as ring,
        LinkReceiver(host="127.0.0.1", ring_address=ring.address, keys=keys, high_water_frames=10) as receiver,
    ):
        yield ring, receiver


@contextmanager
def link_port() -> Iterator[Port]:
    keys = LinkKeys.make()
    with receiving(keys) as (ring, receiver):
        yield Port(receiver.endpoint, keys.public, keys, partial(_receives, ring, receiver, keys))


def _receives(ring: RingReader, receiver: LinkReceiver, keys: LinkKeys) -> None:
    sender = LinkSender(endpoint=receiver.endpoint, keys=keys, high_water_frames=10)
    try:
        wait_until(lambda: sender.try_send(ROUTE, b"from a friend"), "room to send")
        record = ring.read(PATIENCE_S)
    finally:
        sender.close()
    assert record is not None
    assert bytes(record.payload) == b"from a friend"
    assert receiver.refused_frames == 0


PORTS = {"control": control_port, "link": link_port}
