"""Who is let in, who is not and why, and how the door learns that a producer is gone."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import socket
import threading

import msgspec
import pytest

from penstock.errors import RingAttachError, RingClosedError
from penstock.transport import door
from penstock.transport.process_identity import ProcessIdentity
from penstock.transport.ring import RingReader, RingSettings, RingWriter, Route
from tests.ring.guests import (
    NOBODY,
    attach_and_write,
    attach_as_nobody,
    create_as_nobody,
    knock_as_nobody,
    lose_the_connection_and_write,
)
from tests.ring.nursery import Nursery
from tests.ring.patience import wait_until
from tests.ring.proc import open_descriptors
from tests.ring.traffic import Tally, message
from tests.ring.victims import attach_when_there_is_room

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
HELLO = msgspec.msgpack.encode(["_Hello", 1, None, None])


def knock(address: str, greeting: bytes) -> tuple[bytes, int]:
    """The door's answer, and how many descriptors came with it."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.settimeout(30)
        connection.connect("\0" + address)
        connection.send(greeting)
        answer, descriptors, _, _ = socket.recv_fds(connection, 4096, 4)
        for descriptor in descriptors:
            os.close(descriptor)
        return answer, len(descriptors)


def test_address_is_not_a_file_and_cannot_be_guessed(reader: RingReader) -> None:
    assert len(reader.address) >= len("penstock-ring-") + 32
    with RingReader.create(RingSettings(capacity_bytes=1 << 14)) as other:
        assert other.address != reader.address


@needs_root
def test_writer_of_another_user_refuses_a_foreign_ring(reader: RingReader, nursery: Nursery) -> None:
    child = nursery.fork(attach_as_nobody, reader.address)
    assert f"belongs to user 0; this process runs as {NOBODY}" in child.receive()
    assert child.wait() == 0


@needs_root
def test_door_refuses_another_user(reader: RingReader, nursery: Nursery) -> None:
    child = nursery.fork(knock_as_nobody, reader.address, HELLO)
    answer, descriptors = child.receive()
    assert f"the ring belongs to user 0, and the caller is user {NOBODY}".encode() in answer
    assert descriptors == 0
    assert child.wait() == 0
    assert reader.live_slots() == []


@needs_root
def test_writer_does_not_trust_another_users_ring(nursery: Nursery) -> None:
    child = nursery.fork(create_as_nobody)
    with pytest.raises(RingAttachError, match=f"belongs to user {NOBODY}; this process runs as 0"):
        RingWriter.attach(child.receive())
    child.channel.send("enough")
    assert child.wait() == 0


def test_greeting_is_understood(reader: RingReader) -> None:
    """Else the refusals below would prove nothing."""
    answer, descriptors = knock(reader.address, HELLO)
    assert msgspec.msgpack.decode(answer)[0] == "_Welcome"
    assert descriptors == 1


@pytest.mark.parametrize(
    ("greeting", "reason"),
    [
        (b"\xc1", "unknown greeting"),
        (b"GET / HTTP/1.1\r\n\r\n", "unknown greeting"),
        (msgspec.msgpack.encode(["_Hello", "one", None, None]), "unknown greeting"),
        (msgspec.msgpack.encode(["_Hello", 99, None, None]), "protocol wanted=1 got=99"),
        (msgspec.msgpack.encode(["_Hello", 1, 0, 12345]), "does not hold slot=0"),
        (msgspec.msgpack.encode(["_Hello", 1, -5, None]), "does not hold slot=-5"),
        (msgspec.msgpack.encode(["_Hello", 1, 2**40, None]), "does not hold slot="),
    ],
)
def test_bad_greeting_is_refused(reader: RingReader, greeting: bytes, reason: str) -> None:
    answer, descriptors = knock(reader.address, greeting)
    assert reason.encode() in answer
    assert descriptors == 0
    RingWriter.attach(reader.address).close()  # the door still works


def test_silent_and_hasty_clients_are_dropped(reader: RingReader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "_HELLO_WITHIN_S", 0.05)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as silent:
        silent.settimeout(30)
        silent.connect("\0" + reader.address)
        assert silent.recv(1) == b"", "the door has not hung up on a silent client"
    for _ in range(50):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as hasty:
            hasty.connect("\0" + reader.address)
    monkeypatch.undo()  # a busy machine may take longer even if it means well
    RingWriter.attach(reader.address).close()


def test_one_that_cannot_be_looked_at_is_refused_and_the_door_is_minded(
    reader: RingReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_descriptors(pid: int) -> ProcessIdentity:
        raise OSError(errno.EMFILE, "Too many open files", f"/proc/{pid}/stat")

    with monkeypatch.context() as short:
        short.setattr(ProcessIdentity, "of", no_descriptors)
        with pytest.raises(RingAttachError, match=r"cannot look who the caller is: .*Too many open files"):
            RingWriter.attach(reader.address)
    with RingWriter.attach(reader.address) as writer:
        assert writer.slot == 0


def test_unknown_address() -> None:
    with pytest.raises(RingAttachError, match=r"no ring can be reached at 'nowhere'.*use a network link"):
        RingWriter.attach("nowhere")


def test_attach_to_closed_ring() -> None:
    reader = RingReader.create(RingSettings(capacity_bytes=1 << 14))
    reader.close()
    with pytest.raises(RingAttachError, match="no ring can be reached"):
        RingWriter.attach(reader.address)


def test_too_many_producers_then_room_again(reader: RingReader) -> None:
    with contextlib.ExitStack() as stack:
        writers = [stack.enter_context(RingWriter.attach(reader.address)) for _ in range(4)]
        with pytest.raises(RingAttachError, match=r"all producer slots are taken \(max_producers\)"):
            RingWriter.attach(reader.address)
        writers[2].close()
        wait_until(lambda: len(reader.live_slots()) == 3, "it has left")
        newcomer = stack.enter_context(attach_when_there_is_room(reader.address))
        assert newcomer.slot == 2
        newcomer.write(message(2, 0), Route())
        record = reader.read(timeout_s=30)
        assert record is not None
        assert record.producer == 2


def test_slot_stays_taken_until_everything_before_the_departure_is_read(reader: RingReader) -> None:
    with contextlib.ExitStack() as stack:
        writers = [stack.enter_context(RingWriter.attach(reader.address)) for _ in range(4)]
        writers[0].write(message(0, 0), Route())
        writers[0].close()
        wait_until(lambda: len(reader.live_slots()) == 3, "it has left")
        with pytest.raises(RingAttachError, match="all producer slots are taken"):
            RingWriter.attach(reader.address)
        Tally().drain(reader)
        stack.enter_context(attach_when_there_is_room(reader.address))


def test_64_producer_processes_at_once(nursery: Nursery) -> None:
    producers, messages = 64, 200
    with RingReader.create(RingSettings(capacity_bytes=1 << 16, max_producers=producers)) as reader:
        children = [nursery.fork(attach_and_write, reader.address, i, messages) for i in range(producers)]
        assert [child.receive() for child in children] == ["attached"] * producers
        assert len(reader.live_slots()) == producers
        for child in children:
            child.channel.send("go")
        tally = Tally()
        while sum(tally.received.values()) < producers * messages:
            records = reader.read_many(timeout_s=30)
            assert records, "the producers have stopped writing"
            tally.take(records)
        assert [child.wait() for child in children] == [0] * producers
        assert dict(tally.received) == dict.fromkeys(range(producers), messages)
        wait_until(lambda: reader.live_slots() == [], "all have left")


def test_process_without_its_socket_is_not_taken_for_dead(reader: RingReader, nursery: Nursery) -> None:
    child = nursery.fork(lose_the_connection_and_write, reader.address)
    assert child.receive() == "attached"
    before = len(open_descriptors())
    child.channel.send("close")
    assert child.receive() == "closed"
    wait_until(lambda: len(open_descriptors()) < before, "the door has seen the end of the connection")
    assert [pid for _, pid, _ in reader.live_slots()] == [child.pid]
    child.channel.send("write")
    record = reader.read(timeout_s=30)
    assert record is not None
    assert record.payload == message(1, 0)
    assert child.kill() == -signal.SIGKILL
    wait_until(lambda: reader.live_slots() == [], "the process is known to be dead")


def test_closing_the_ring_reaches_writers_that_wait(reader: RingReader) -> None:
    raised: list[BaseException] = []

    def fill(writer: RingWriter) -> None:
        try:
            while True:
                writer.write(bytes(1_000), Route())
        except RingClosedError as error:
            raised.append(error)

    with contextlib.ExitStack() as stack:
        writers = [stack.enter_context(RingWriter.attach(reader.address)) for _ in range(3)]
        threads = [threading.Thread(target=fill, args=(writer,)) for writer in writers]
        for thread in threads:
            thread.start()
        wait_until(lambda: reader.counters().full_waits == 3, "all writers wait")
        reader.close()
        for thread in threads:
            thread.join()
    assert len(raised) == 3
