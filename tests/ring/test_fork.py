"""A fork copies the reader's and the writer's descriptors and memory: the ring stays the parent's."""

from __future__ import annotations

import signal

from penstock.transport.ring import RingReader, RingWriter, Route
from tests.ring import fork_scenes
from tests.ring.nursery import Nursery
from tests.ring.patience import wait_until
from tests.ring.traffic import message
from tests.ring.victims import Strike, write_and_be_struck


def test_child_cannot_use_inherited_ends_and_parent_goes_on(nursery: Nursery) -> None:
    scene = nursery.fork(fork_scenes.use_both_ends_in_the_child)
    for error in scene.receive():
        assert error.startswith("RingClosedError: this ")
        assert "made before a fork" in error
    assert scene.receive() == 0
    assert scene.receive() == [message(1, 0), message(1, 1)]
    assert scene.wait() == 0


def test_child_that_drops_a_lent_payload_does_not_give_it_back(nursery: Nursery) -> None:
    scene = nursery.fork(fork_scenes.drop_a_lent_payload_in_the_child)
    assert scene.receive() is True, "a payload was overwritten that the parent still held"
    assert scene.wait() == 0


def test_readers_death_is_seen_though_its_child_lives(nursery: Nursery) -> None:
    scene = nursery.fork(fork_scenes.read_with_a_child_around)
    with RingWriter.attach(scene.receive()) as writer:
        scene.channel.send("attached")
        assert scene.receive() == "forked"
        writer.write(b"x", Route())
        assert scene.receive() == b"x"
        assert not writer.consumer_gone
        scene.send_signal(signal.SIGKILL)
        wait_until(lambda: writer.consumer_gone, "the reader's death is seen")
        wait_until(scene.is_dead, "it is dead: its connections are closed a moment before that")
        with RingReader.resume(writer.memory_fd) as successor:
            successor.read(timeout_s=0)
        assert scene.wait() == -signal.SIGKILL


def test_writers_death_is_seen_though_its_child_lives(reader: RingReader, nursery: Nursery) -> None:
    scene = nursery.fork(fork_scenes.write_with_a_child_around, reader.address)
    record = reader.read(timeout_s=30)
    assert record is not None
    assert record.payload == message(1, 0)
    scene.send_signal(signal.SIGKILL)
    wait_until(lambda: reader.live_slots() == [], "the writer's death is seen")
    assert scene.wait() == -signal.SIGKILL


def test_producers_death_is_seen_by_a_reader_that_has_forked(nursery: Nursery) -> None:
    scene = nursery.fork(fork_scenes.wait_for_deaths_after_a_fork)
    address = scene.receive()
    victim = nursery.fork(write_and_be_struck, address, 1, [100] * 5, Strike("before_commit", signal.SIGSTOP))
    wait_until(victim.is_stopped, "the producer has stopped in the middle of a write")
    scene.channel.send("attached")
    assert scene.receive() == "forked"
    assert victim.kill() == -signal.SIGKILL
    assert scene.receive() == "seen"
    assert scene.wait() == 0


def test_producer_attaches_after_the_reader_has_forked(nursery: Nursery) -> None:
    """The door still opens: the child has closed its copies and not the parent's."""
    scene = nursery.fork(fork_scenes.read_with_a_child_around)
    address = scene.receive()
    scene.channel.send("go")
    assert scene.receive() == "forked"
    with RingWriter.attach(address) as writer:
        writer.write(b"late", Route())
        assert scene.receive() == b"late"
    assert scene.kill() == -signal.SIGKILL


def test_multiprocessing_with_fork(nursery: Nursery) -> None:
    scene = nursery.fork(fork_scenes.attach_in_a_multiprocessing_child)
    assert scene.receive() == (0, [b"from the pool", b"from the parent"])
    assert scene.wait() == 0
