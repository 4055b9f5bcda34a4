"""Producers are killed and stopped at random instants and at every crash point, and not a message is wrong."""

from __future__ import annotations

import contextlib
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from penstock.transport.ring import Record, RingReader, RingSettings, RingWriter, Route
from tests.ring.nursery import Nursery
from tests.ring.patience import wait_until
from tests.ring.proc import open_descriptors
from tests.ring.storm import MOST_PER_WRITE, PRODUCER_POINTS, Ledger, Storm
from tests.ring.traffic import Tally, message, opened

SETTINGS = RingSettings(capacity_bytes=1 << 16, max_producers=8)
PRODUCERS = 6


def read_through(reader: RingReader, tally: Tally, storm: Storm) -> None:
    """Reads while the storm rages, and keeps lent payloads for a while: nobody may overwrite them."""
    rng = random.Random(storm.kills)
    kept: list[Record] = []
    with ThreadPoolExecutor(1) as executor, contextlib.closing(storm):
        raging = executor.submit(storm.rage)
        while not raging.done():
            records = reader.read_many(rng.randint(1, 64), timeout_s=0.01)
            tally.take(records)
            kept += [record for record in records if isinstance(record.payloads[0], memoryview)]
            patience = 3 if records else 0  # nothing comes: it may be our views that keep the ring full
            del records
            while len(kept) > patience:
                opened(kept.pop(rng.randrange(len(kept))).payload)
        raging.result()


def check_that_it_is_as_new(reader: RingReader, descriptors_before: int) -> None:
    """Nothing of the dead is left: not a byte, not a slot, not a descriptor."""
    assert reader.counters().used_bytes == 0
    assert reader.stalls() == []
    wait_until(lambda: reader.live_slots() == [], "all producers are known to be dead")
    wait_until(lambda: len(open_descriptors()) == descriptors_before, "the door has let go of all that it held")
    with contextlib.ExitStack() as stack:
        for number in range(SETTINGS.max_producers):
            writer = stack.enter_context(RingWriter.attach(reader.address))
            writer.write(message(number, 0, 5_000), Route(), timeout_s=30)
        records = reader.read_many(timeout_s=30)
        assert [opened(record.payload) for record in records] == [(i, 0) for i in range(SETTINGS.max_producers)]


def weather(nursery: Nursery, tmp_path: Path, kills: int) -> Storm:
    tally = Tally()
    path = tmp_path / "ledger"
    most_started = 4 * kills
    with Ledger(path, producers=most_started) as ledger, RingReader.create(SETTINGS) as reader:
        descriptors_before = len(open_descriptors())
        storm = Storm(nursery, reader.address, path, producers=PRODUCERS, kills=kills, most_started=most_started)
        read_through(reader, tally, storm)
        tally.drain(reader)
        for producer in range(storm.started):
            certain = ledger.acknowledged(producer)
            assert certain <= tally.received[producer] <= certain + MOST_PER_WRITE, f"producer={producer}"
        counters = reader.counters()
        print(
            f"\nstorm: {storm.started} producers, kills={storm.kills} ({storm.killed_at_random} at random, "
            f"{storm.killed_at.total()} at crash points), stops={storm.stops} ({storm.stopped_at_random} at random, "
            f"{storm.stopped_at.total()} at crash points), messages={sum(tally.received.values())}, "
            f"records={counters.records_read}, stalls={counters.stalls}, recovered={counters.recovered_records} "
            f"({counters.recovered_bytes} bytes), dropped={counters.dropped_messages}"
        )
        assert storm.kills >= kills
        assert set(storm.killed_at) == set(PRODUCER_POINTS)
        assert counters.recovered_records > 0
        check_that_it_is_as_new(reader, descriptors_before)
    return storm


def test_short_storm(nursery: Nursery, tmp_path: Path) -> None:
    weather(nursery, tmp_path, kills=100)


@pytest.mark.storm
def test_storm(nursery: Nursery, tmp_path: Path) -> None:
    storm = weather(nursery, tmp_path, kills=2_000)
    assert storm.stops >= 500
    assert set(storm.stopped_at) == set(PRODUCER_POINTS)
