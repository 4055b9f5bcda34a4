"""The reader is killed and replaced by another on the same memory: nothing that was written is lost."""

from __future__ import annotations

import contextlib
import os
import random
import signal
from multiprocessing.reduction import send_handle
from pathlib import Path

import pytest

from penstock.errors import RingAttachError
from penstock.transport.ring import RingReader, RingSettings, RingWriter, Route
from tests.ring.consumers import create_and_consume, create_and_idle, resume_and_consume, write_whoever_reads
from tests.ring.nursery import Child, Nursery
from tests.ring.patience import wait_until
from tests.ring.traffic import Tally, message, opened
from tests.ring.victims import Strike

SETTINGS = RingSettings(capacity_bytes=1 << 16, max_producers=4)
CONSUMER_POINTS = ("after_poll", "after_reclaim_mark", "mid_clearing", "before_free", "after_free")
Batch = list[tuple[int, int]]


def last_words(consumer: Child) -> list[Batch]:
    """The batches that a killed reader reported; the last report may have been cut short."""
    batches: list[Batch] = []
    with contextlib.suppress(EOFError, OSError):
        while consumer.channel.poll(0):
            batches.append(consumer.channel.recv())
    return batches


def check_takeover(before: list[Batch], after: Batch, written: int) -> None:
    """One producer's records: all arrive, in order, and only those of the last batch may come again."""
    read = [sequence for batch in before for _, sequence in batch]
    assert read == list(range(len(read)))
    finished = len(read) - (len(before[-1]) if before else 0)
    again = [sequence for _, sequence in after]
    assert again, "the successor got nothing"
    assert again == list(range(again[0], written))
    assert finished <= again[0] <= len(read)


@pytest.mark.parametrize("passes", [0, 1, 5])
@pytest.mark.parametrize("point", CONSUMER_POINTS)
def test_reader_killed_at_crash_point(nursery: Nursery, point: str, passes: int) -> None:
    consumer = nursery.fork(create_and_consume, SETTINGS, Strike(point, passes=passes), 7)
    with RingWriter.attach(consumer.receive()) as writer:
        for sequence in range(60):
            writer.write(message(1, sequence), Route(), timeout_s=30)
        consumer.channel.send("go")
        wait_until(consumer.is_dead, "the reader has died at its crash point")
        before = last_words(consumer)
        assert consumer.wait() == -signal.SIGKILL
        for sequence in range(60, 80):
            writer.write(message(1, sequence), Route(), timeout_s=30)
        with RingReader.resume(writer.memory_fd) as reader:
            writer.reattach(reader.address)
            records = reader.read_many(1_000, timeout_s=30)
            check_takeover(before, [opened(record.payload) for record in records], written=80)
            # As good as new: many laps more, drained at the end.
            tally = Tally()
            for sequence in range(1_000):
                writer.write(message(2, sequence, 5_000), Route(), timeout_s=30)
                tally.take(reader.read_many(timeout_s=30))
            assert tally.received == {2: 1_000}
            tally.drain(reader)
            assert reader.counters().used_bytes == 0


class Relay:
    """Writers that go on while one reader after another is killed, until there have been enough."""

    def __init__(self, nursery: Nursery, writers: int, enough: Path) -> None:
        self._nursery = nursery
        self._consumer = nursery.fork(create_and_consume, SETTINGS, None, 16)
        self.address: str = self._consumer.receive()
        self.keeper = RingWriter.attach(self.address)  # has the descriptor that each reader leaves to the next
        self.writers = [nursery.fork(write_whoever_reads, self.address, i, enough) for i in range(writers)]
        assert [writer.receive() for writer in self.writers] == ["attached"] * writers
        self._enough = enough
        self.written: dict[int, tuple[int, set[int]]] = {}  # by writer: how many, and which may come again
        self.got: list[list[Batch]] = []  # by reader, by report

    def answer_writers(self) -> None:
        for number, writer in enumerate(self.writers):
            if number not in self.written and writer.channel.poll(0):
                word = writer.channel.recv()
                if word == "where?":
                    writer.channel.send(self.address)
                else:
                    self.written[number] = word

    def kill_reader_after(self, reports: int) -> None:
        batches: list[Batch] = []
        self._consumer.channel.send("go")

        def time_to_die() -> bool:
            self.answer_writers()
            with contextlib.suppress(EOFError, OSError):
                if self._consumer.channel.poll(0.001):
                    batches.append(self._consumer.channel.recv())
            return len(batches) >= reports or self._consumer.is_dead()

        wait_until(time_to_die, "the reader has read enough")
        self._consumer.send_signal(signal.SIGKILL)
        wait_until(self._consumer.is_dead, "the reader is dead")
        self.got.append(batches + last_words(self._consumer))
        assert self._consumer.wait() == -signal.SIGKILL

    def next_reader(self, strike: Strike | None) -> None:
        self._consumer = self._nursery.fork(resume_and_consume, strike, 16)
        send_handle(self._consumer.channel, self.keeper.memory_fd, self._consumer.pid)
        self.address = self._consumer.receive()

    def read_to_the_end(self) -> None:
        """The last reader is ourselves."""
        self.got.append([])
        self._enough.touch()
        with RingReader.resume(self.keeper.memory_fd) as reader:
            self.address = reader.address

            def all_read() -> bool:
                self.answer_writers()
                done = len(self.written) == len(self.writers)
                batch = [opened(payload) for record in reader.read_many(timeout_s=0) for payload in record.payloads]
                self.got[-1].append(batch)
                return done and reader.drained

            wait_until(all_read, "all writers have finished and the ring is drained")
        assert [writer.wait() for writer in self.writers] == [0] * len(self.writers)

    def close(self) -> None:
        self.keeper.close()


def test_readers_killed_at_random_while_writers_write(nursery: Nursery, tmp_path: Path) -> None:
    rng = random.Random(20)
    deaths = 40
    with contextlib.closing(Relay(nursery, writers=3, enough=tmp_path / "enough")) as relay:
        for death in range(deaths):
            if death > 0:
                strike = Strike(rng.choice(CONSUMER_POINTS), passes=rng.randrange(30))
                relay.next_reader(rng.choice([None, strike]))
            relay.kill_reader_after(reports=rng.randint(1, 20))
        relay.read_to_the_end()
    assert len(relay.got) == deaths + 1
    for number, (messages, repeatable) in relay.written.items():
        check_all_arrived(relay.got, number, messages, repeatable)


def check_all_arrived(got: list[list[Batch]], producer: int, messages: int, repeatable: set[int]) -> None:
    """In order to each reader; a new reader begins with what the last one had not finished."""
    expected = 0  # the next message that nobody has seen
    unfinished = 0  # the first that may come again to a new reader
    for batches in got:
        previous: int | None = None
        for batch in batches:
            sequences = [sequence for owner, sequence in batch if owner == producer]
            for sequence in sequences:
                if previous is None:
                    assert unfinished <= sequence <= expected or sequence in repeatable
                else:  # what another reader has finished already is left out
                    assert previous < sequence <= expected or (sequence == previous and sequence in repeatable)
                previous = sequence
                expected = max(expected, sequence + 1)
            unfinished = min(sequences, default=expected)
    assert expected == messages


def test_resume_is_refused_while_the_reader_lives(nursery: Nursery, reader: RingReader) -> None:
    consumer = nursery.fork(create_and_idle, SETTINGS)
    with RingWriter.attach(consumer.receive()) as writer:
        with pytest.raises(RingAttachError, match=f"pid={consumer.pid}, is not proven dead"):
            RingReader.resume(writer.memory_fd)
        consumer.send_signal(signal.SIGSTOP)
        wait_until(consumer.is_stopped, "the reader is stopped")
        with pytest.raises(RingAttachError, match="is not proven dead"):
            RingReader.resume(writer.memory_fd)
        assert consumer.kill() == -signal.SIGKILL
        RingReader.resume(writer.memory_fd).close()
    with pytest.raises(RingAttachError, match=f"pid={os.getpid()}, is not proven dead"):
        RingReader.resume(reader.memory_fd)
