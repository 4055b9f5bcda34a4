"""What is pushed to a task: counted by who pushed it, whatever was given up before."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from penstock.topology.pushed_spout import PushedSpout
from penstock.transport.frames import FrameKind
from penstock.transport.links import LinkKeys, LinkSender
from penstock.transport.ring import RingWriter, Route
from penstock.worker import feed_input
from penstock.worker.batches import batch_to_payload
from penstock.worker.feed_input import FeedInput
from tests.ring.patience import wait_until

ROUTE = Route(target=10, flags=FrameKind.BATCH)
KEYS = LinkKeys.make()


def payload(grant: int, rows: int = 3) -> bytes:
    return batch_to_payload(pa.RecordBatch.from_pydict({"n": list(range(rows))}), 0, 0, frame=grant)


@pytest.fixture
def running() -> Any:
    return SimpleNamespace(logic=PushedSpout(), task=10, component="events", pending=0)


@pytest.fixture
def fed(running: Any) -> Iterator[FeedInput]:
    one = FeedInput(running, host="127.0.0.1", keys=KEYS, high_water_frames=10)
    yield one
    one.close()


def test_rows_come_over_the_ring_and_over_the_link(fed: FeedInput, running: Any) -> None:
    link = LinkSender(endpoint=fed.link_endpoint, keys=KEYS, high_water_frames=10)
    with RingWriter.attach(fed.ring_address) as ring:
        assert ring.try_write(payload(1), ROUTE)
        assert link.try_send(ROUTE, payload(2, rows=4))
        fed.close_batch(7, {1: 3, 2: 4})
        taken: list[int] = []

        def take() -> bool:
            batch = running.logic.next()
            taken.extend([] if batch is None else [batch.num_rows])
            return len(taken) == 2

        assert fed.complete_batch() is None
        wait_until(take, "both have come")
    link.close()
    assert sorted(taken) == [3, 4]
    assert fed.complete_batch() == 7
    assert fed.complete_batch() is None
    fed.end()
    with pytest.raises(StopIteration):
        running.logic.next()


def test_what_was_given_up_takes_nothing_from_what_is_pushed_again(fed: FeedInput, running: Any) -> None:
    with RingWriter.attach(fed.ring_address) as ring:
        ring.try_write(payload(1), ROUTE)
        fed.take()
        fed.close_batch(1, {1: 3})
        running.pending = 3  # another worker dies, and the micro-batch is given up before they are processed
        ring.try_write(payload(2), ROUTE)
        fed.take()
    running.pending = 0
    assert fed.complete_batch() == 1, "nobody waits for that any more"
    fed.close_batch(2, {2: 3})
    assert fed.complete_batch() == 2


def test_what_does_not_come_is_missed(fed: FeedInput, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed_input, "MISSED_AFTER_NS", 1)
    with RingWriter.attach(fed.ring_address) as ring:
        ring.try_write(payload(1), ROUTE)
        fed.take()
        fed.close_batch(1, {1: 3, 2: 5})
        assert fed.trouble() is None, "nobody has looked yet"
        fed.take()
    assert fed.trouble() == "wanted 8 rows of a micro-batch, got 3"
    assert fed.trouble() is None
