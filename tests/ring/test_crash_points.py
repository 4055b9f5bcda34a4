"""A producer dies, or stops, at each instant that leaves the ring in a state of its own."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator

import pytest

from penstock.transport.ring import RingReader, RingSettings, RingWriter, Route
from tests.ring.nursery import Child, Nursery
from tests.ring.patience import wait_until
from tests.ring.traffic import Tally, message
from tests.ring.victims import Strike, attach_when_there_is_room, write_and_be_struck, write_batches_and_be_struck

SETTINGS = RingSettings(capacity_bytes=1 << 14, max_producers=2)
VICTIM, SURVIVOR = 1, 2

# Three lines each: they do not divide a lap, so every lap ends with a flush record. 500 of them make five laps.
SMALL = [100] * 500
PACKETS = 5
LARGE = [PACKETS * 1_900] * 6

POINTS = {
    "before_claim": SMALL,
    "after_intent": SMALL,
    "after_claim": SMALL,
    "after_first_header": SMALL,
    "after_header": SMALL,
    "mid_copy": SMALL,
    "before_commit": SMALL,
    "after_commit": SMALL,
    "between_packets": LARGE,
}
# Where a claim stands that is not committed: its space has to be recovered.
UNFINISHED = ["after_claim", "after_first_header", "after_header", "mid_copy", "before_commit"]


@pytest.fixture
def reader() -> Iterator[RingReader]:
    with RingReader.create(SETTINGS) as reader:
        yield reader


def read_until_struck(reader: RingReader, victim: Child, tally: Tally) -> int:
    """Reads until the victim is dead or stopped, and returns how many of its writes have returned."""
    acknowledged = 0

    def struck() -> bool:
        nonlocal acknowledged
        struck_already = victim.is_dead() or victim.is_stopped()  # first: then its last report is there to be read
        tally.take(reader.read_many(timeout_s=0))
        with contextlib.suppress(EOFError):
            while victim.channel.poll(0):
                acknowledged = victim.channel.recv()
        return struck_already

    wait_until(struck, "the victim is dead or stopped")
    return acknowledged


def check_that_others_flow(reader: RingReader, writer: RingWriter, tally: Tally, messages: int) -> None:
    for sequence in range(tally.received[SURVIVOR], tally.received[SURVIVOR] + messages):

        def written(payload: bytes = message(SURVIVOR, sequence, 300)) -> bool:
            tally.take(reader.read_many(timeout_s=0))
            return writer.try_write(payload, Route(source=SURVIVOR))

        wait_until(written, "there is room for the survivor")
        tally.take(reader.read_many(timeout_s=0))
        assert tally.received[SURVIVOR] == sequence + 1
    tally.take(reader.read_many(timeout_s=0))  # says that the last one is done with, and gives its space back


def check_that_slot_is_free_again(reader: RingReader) -> None:
    """The survivor has the other slot."""
    with attach_when_there_is_room(reader.address) as newcomer:
        newcomer.write(message(3, 0), Route())
        record = reader.read(timeout_s=30)
        assert record is not None
        assert record.payload == message(3, 0)


@pytest.mark.parametrize("passes", [0, 1, 4])
@pytest.mark.parametrize("point", POINTS)
def test_killed_producer_leaves_no_trace(reader: RingReader, nursery: Nursery, point: str, passes: int) -> None:
    tally = Tally()
    with RingWriter.attach(reader.address) as survivor:
        victim = nursery.fork(write_and_be_struck, reader.address, VICTIM, POINTS[point], Strike(point, passes=passes))
        done = read_until_struck(reader, victim, tally)
        assert victim.wait() == -signal.SIGKILL
        check_that_others_flow(reader, survivor, tally, 100)
        tally.drain(reader)
        counters = reader.counters()
        assert counters.used_bytes == 0
        assert reader.stalls() == []
        # What was acknowledged has arrived; after the (last) commit, so has what could not be acknowledged any more.
        committed = point == "after_commit" or (point == "between_packets" and passes == PACKETS - 1)
        assert tally.received[VICTIM] == done + committed
        # At a wrap there are two stretches without an owner: up to the end of the lap, and the record itself.
        assert counters.recovered_records == (point in UNFINISHED) + (point == "after_first_header")
        assert (counters.recovered_bytes > 0) == (point in UNFINISHED)
        wait_until(lambda: reader.read(timeout_s=0) or len(reader.live_slots()) == 1, "the victim's slot is retired")
        assert reader.read(timeout_s=0) is None
        assert reader.counters().dropped_messages == (point == "between_packets" and not committed)
        check_that_slot_is_free_again(reader)


@pytest.mark.parametrize("end", [signal.SIGCONT, signal.SIGKILL])
@pytest.mark.parametrize("point", POINTS)
def test_others_flow_around_a_stopped_producer(
    reader: RingReader, nursery: Nursery, point: str, end: signal.Signals
) -> None:
    tally = Tally()
    with RingWriter.attach(reader.address) as survivor:
        victim = nursery.fork(write_and_be_struck, reader.address, VICTIM, POINTS[point], Strike(point, signal.SIGSTOP))
        done = read_until_struck(reader, victim, tally)
        assert victim.is_stopped()
        check_that_others_flow(reader, survivor, tally, 10)
        stalls = reader.stalls()
        assert [stall.pid for stall in stalls] == [victim.pid] * (point in UNFINISHED)
        assert all(stall.held_bytes >= 192 and stall.for_s >= 0 for stall in stalls)
        assert reader.drained == (point not in UNFINISHED)
        assert reader.counters().recovered_records == 0, "the space of a living producer was taken"
        victim.send_signal(end)
        read_until_struck(reader, victim, tally)
        if end == signal.SIGCONT:
            assert victim.wait() == 0
            tally.drain(reader)
            assert tally.received[VICTIM] == len(POINTS[point])
            assert reader.counters().recovered_records == 0
        else:
            assert victim.wait() == -signal.SIGKILL
            check_that_others_flow(reader, survivor, tally, 100)
            tally.drain(reader)
            assert tally.received[VICTIM] == done + (point == "after_commit")
        assert reader.stalls() == []
        wait_until(lambda: len(reader.live_slots()) == 1, "the victim's slot is retired")
        check_that_slot_is_free_again(reader)


@pytest.mark.parametrize("point", ["after_claim", "mid_copy", "before_commit", "after_commit"])
def test_batch_arrives_whole_or_not_at_all(reader: RingReader, nursery: Nursery, point: str) -> None:
    batches = [1, 7, 16, 3, 9]
    tally = Tally()
    victim = nursery.fork(write_batches_and_be_struck, reader.address, VICTIM, batches, Strike(point, passes=3))
    done = read_until_struck(reader, victim, tally)
    assert victim.wait() == -signal.SIGKILL
    tally.drain(reader)
    whole = [sum(batches[:count]) for count in range(len(batches) + 1)]
    assert tally.received[VICTIM] in whole
    assert tally.received[VICTIM] >= done


def test_all_producers_die_at_once_each_at_another_point(nursery: Nursery) -> None:
    """The ring is full of the claims of the dead, one behind the other, and all of it comes back."""
    points = [point for point in UNFINISHED if point != "after_first_header"] * 4
    with RingReader.create(RingSettings(capacity_bytes=1 << 14, max_producers=len(points))) as reader:
        victims = [
            nursery.fork(write_and_be_struck, reader.address, number, [500, 500], Strike(point))
            for number, point in enumerate(points)
        ]
        assert [victim.wait() for victim in victims] == [-signal.SIGKILL] * len(points)
        tally = Tally()
        tally.drain(reader)
        assert tally.received == {}
        # Neighbours without headers are recovered as one stretch.
        assert 1 <= reader.counters().recovered_records <= len(points)
        assert reader.counters().recovered_bytes == len(points) * 576
        with RingWriter.attach(reader.address) as writer:
            check_that_others_flow(reader, writer, tally, 100)
