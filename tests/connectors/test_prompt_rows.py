"""Rows are shown before the end of their epoch, where that is allowed, as fast as a query takes them."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from penstock.connectors.folder import Folder
from penstock.connectors.spark_stream import SparkStream
from penstock.flow.delivery import Delivery
from penstock.testing import FedSpout, LocalCluster
from penstock.topology.topology import Topology
from tests.connectors.driving import context
from tests.connectors.spooling import Reader, all_rows, feed

TICK_S = 0.06
"""Somewhat more than a tick, and much less than an epoch."""


def cluster(folder: Path, delivery: Delivery) -> tuple[LocalCluster, FedSpout]:
    topo, spout = Topology("t"), FedSpout(fields=("word",))
    topo.bolt("c", SparkStream(folder, schema="word string"), topo.spout("words", spout).shuffle())
    return LocalCluster(topo, workers=2, delivery=delivery), spout


@pytest.mark.parametrize("delivery", ["at_most_once", "at_least_once"])
def test_rows_are_shown_when_a_query_has_taken_the_last_ones(tmp_path: Path, delivery: Delivery) -> None:
    running, spout = cluster(tmp_path, delivery)
    with running:
        spout.feed(("a",))
        running.settle()
        assert all_rows(tmp_path) == []
        running.advance(TICK_S)
        assert all_rows(tmp_path) == ["a"]
        reader = Reader(tmp_path)
        spout.feed(("b",))
        running.advance(TICK_S)
        assert all_rows(tmp_path) == ["a"]  # one file that waits is enough
        reader.batch()
        reader.commit()
        running.advance(TICK_S)
        assert all_rows(tmp_path) == ["b"]
        reader.batch()
        assert reader.got == ["a", "b"]


def test_what_was_shown_early_is_done_and_does_not_come_again(tmp_path: Path) -> None:
    running, spout = cluster(tmp_path, "at_least_once")
    with running:
        spout.feed(("a",))
        running.advance(TICK_S)
        assert all_rows(tmp_path) == ["a"]
        running.kill(1)
        running.restart(1)
        running.advance(3.0)
        assert all_rows(tmp_path) == ["a"]


def test_exactly_once_nothing_is_shown_before_its_epoch_is_committed(tmp_path: Path) -> None:
    sink = SparkStream(tmp_path, schema="word string")
    sink.by_epochs = True
    sink.open(context())
    feed(sink, "a")
    sink.tick()
    assert all_rows(tmp_path) == []
    sink.close()


def test_a_slow_filesystem_is_left_alone_most_of_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now_ns = 10**18
    has = Folder.has

    def slowly(folder: Folder, name: str) -> bool:
        nonlocal now_ns
        now_ns += 30_000_000
        return has(folder, name)

    sink = SparkStream(tmp_path, schema="word string")
    sink.open(msgspec.structs.replace(context(), now_ns=lambda: now_ns))
    feed(sink, "a")
    sink.tick()
    feed(sink, "b")
    monkeypatch.setattr(Folder, "has", slowly)
    looked_ns = []
    for _ in range(100):
        before_ns = now_ns
        sink.tick()
        if now_ns != before_ns:
            looked_ns.append(before_ns)
        now_ns += 50_000_000
    assert len(looked_ns) == pytest.approx(50 * 100 / 330, abs=3)
    now_ns -= 3600 * 10**9  # somebody has set the clock
    before_ns = now_ns
    sink.tick()
    assert now_ns > before_ns
    sink.close()
