"""Which way a worker takes to another one of its node."""

from __future__ import annotations

from contextlib import closing

import pytest

from penstock.transport.links import LinkKeys, LinkReceiver, LinkSender
from penstock.transport.ring import RingReader, RingSettings, Route
from penstock.worker.carriers import RingWay
from penstock.worker.peers import way_to
from penstock.worker.settings import WorkerSettings
from tests.ring.patience import PATIENCE_S, wait_until

ROUTE = Route(target=1, source=2, stream=3, assignment=4, flags=0)


@pytest.mark.parametrize(("share_memory", "kind"), [(True, RingWay), (False, LinkSender)])
def test_a_ring_is_used_only_where_memory_may_be_shared(share_memory: bool, kind: type) -> None:
    keys = LinkKeys.make()
    with (
        RingReader.create(RingSettings(capacity_bytes=1 << 16)) as inbox,
        LinkReceiver(host="127.0.0.1", ring_address=inbox.address, keys=keys, high_water_frames=10) as link,
        closing(
            way_to(
                same_node=True,
                ring_address=inbox.address,
                link_endpoint=link.endpoint,
                keys=keys,
                settings=WorkerSettings(share_memory=share_memory),
            )
        ) as way,
    ):
        assert isinstance(way, kind)
        wait_until(lambda: way.try_send(ROUTE, b"frame"), "the frame is on its way")
        [record] = inbox.read_many(10, PATIENCE_S)
        assert (bytes(record.payload), record.target) == (b"frame", ROUTE.target)
