"""Connections that break, drivers that die, clocks that jump."""

import socket
import threading

import pytest
import zmq

from penstock.control.attention import AttentiveClock
from penstock.control.codec import encode
from penstock.control.numbering import Numbering
from penstock.control.protocol import (
    Admit,
    Begin,
    Collected,
    Deploy,
    Ended,
    Heartbeat,
    Left,
    Message,
    Pulse,
    Ready,
    Refuse,
    Report,
    Stop,
)
from penstock.control.wire import connected_dealer
from penstock.errors import RunError
from tests.control.stage import register
from tests.control.troupe import Clock, Played, Troupe, troupe, worker
from tests.ring.patience import wait_until


class Wire:
    """A cable between worker and driver that can be cut, and that can swallow what is sent before it is."""

    def __init__(self, endpoint: str) -> None:
        host, _, port = endpoint.removeprefix("tcp://").rpartition(":")
        self._target = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.endpoint = f"tcp://127.0.0.1:{self._listener.getsockname()[1]}"
        self.swallows = False
        self.swallowed = 0
        self.connections = 0
        self._open: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = socket.create_connection(self._target)
            self._open += [near, far]
            for source, target, outward in ((near, far, True), (far, near, False)):
                thread = threading.Thread(target=self._carry, args=(source, target, outward))
                self._threads.append(thread)
                thread.start()
            self.connections += 1

    def _carry(self, source: socket.socket, target: socket.socket, outward: bool) -> None:
        try:
            while data := source.recv(65536):
                if outward and self.swallows:
                    self.swallowed += len(data)
                else:
                    target.sendall(data)
        except OSError:
            return

    def cut(self, *, driver_notices: bool = True) -> None:
        """All connections break, for the worker at least; new ones can be made."""
        for end in self._open if driver_notices else self._open[::2]:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue
        self.swallows = False

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()
        for thread in self._threads:
            thread.join()
        for end in self._open:
            end.close()

    def __enter__(self) -> "Wire":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def admitted(played: Played) -> Played:
    played.client.send(register(0))
    played.hears(Deploy)
    return played


@pytest.mark.parametrize("driver_notices", [True, False])
def test_a_worker_reconnects_by_itself_and_stays_who_it_is(driver_notices: bool) -> None:
    clock = Clock()
    with (
        troupe() as run,
        Wire(run.server.endpoint) as cable,
        worker(run, endpoint=cable.endpoint, clock=clock) as played,
    ):
        admitted(played)
        cable.cut(driver_notices=driver_notices)
        wait_until(lambda: cable.connections == 2, "the worker connects again")
        played.client.poll()
        played.heard.clear()  # what was answered before
        clock.passes(1)

        played.hears(Pulse)

        assert played.client.driver_gone is None
        assert run.server.status().workers[0].generation == 1
        assert run.server.status().restarts == 0


def test_a_message_lost_on_the_way_costs_the_worker_its_seat() -> None:
    clock = Clock()
    with (
        troupe() as run,
        Wire(run.server.endpoint) as cable,
        worker(run, endpoint=cable.endpoint, clock=clock) as played,
    ):
        admitted(played)
        cable.swallows = True
        played.client.send(Ready(assignment=1))
        wait_until(lambda: cable.swallowed, "the word is swallowed")
        cable.cut()
        wait_until(lambda: cable.connections == 2, "the worker connects again")
        clock.passes(1)

        assert "messages were lost on the way" in played.hears(Refuse).reason
        wait_until(lambda: run.host.stopped == [(0, 1)], "its job is ended")


def gone(played: Played, clock: Clock) -> bool:
    clock.passes(0.25)
    played.client.poll()
    return played.client.driver_gone is not None


def test_a_worker_notices_that_the_driver_died() -> None:
    clock = Clock()
    with troupe() as run, worker(run, clock=clock) as played:
        admitted(played)
        run.server.close()

        wait_until(lambda: gone(played, clock), "the driver's death is noticed")

        assert "has not answered for 10 s" in str(played.client.driver_gone)


def test_a_worker_notices_that_there_never_was_a_driver() -> None:
    clock = Clock()
    with troupe() as run:
        run.server.close()
        with worker(run, clock=clock) as played:
            played.client.send(register(0))
            wait_until(lambda: gone(played, clock), "nobody ever answers")


def test_a_driver_that_answers_is_never_taken_for_gone() -> None:
    clock = Clock()
    with troupe() as run, worker(run, clock=clock) as played:
        admitted(played)
        for _ in range(50):
            played.heard.clear()
            clock.passes(0.5)
            played.hears(Pulse)
            assert played.client.driver_gone is None


def test_a_worker_that_was_busy_for_long_does_not_blame_the_driver() -> None:
    clock = Clock()
    with troupe() as run, worker(run, clock=clock) as played:
        admitted(played)
        clock.passes(1)
        played.client.poll()
        for _ in range(5):
            clock.passes(3600)
            played.client.poll()
            assert played.client.driver_gone is None
        played.hears(Pulse)


def test_a_driver_that_forgets_messages_is_not_obeyed() -> None:
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    with context, context.socket(zmq.ROUTER) as router:
        run = Troupe()
        run.server.close()
        router.curve_server = True
        router.curve_publickey, router.curve_secretkey = run.keys.server.public, run.keys.server.secret
        router.linger = 0
        port = router.bind_to_random_port("tcp://127.0.0.1")
        with worker(run, endpoint=f"tcp://127.0.0.1:{port}") as played:
            played.client.send(register(0))
            connection, _, _ = router.recv_multipart()
            numbering = Numbering()
            numbering.stamp(Begin())  # a message that never came
            router.send_multipart([connection, numbering.stamp(word := Admit(generation=1)), encode(word)])
            wait_until(lambda: played.client.poll() or played.client.driver_gone, "the gap is noticed")

            assert "messages were lost on the way: number wanted=0 got=1" in str(played.client.driver_gone)
            assert played.client.poll() == []


def test_a_key_holder_that_babbles_is_refused_and_the_run_goes_on() -> None:
    with troupe() as run, zmq.Context() as context:
        about = {"endpoint": run.server.endpoint, "server_public": run.keys.server.public, "keys": run.keys.client}
        for parts in (
            [b"one part"],
            [b"\0" * 8, b"GET / HTTP/1.1"],
            [b"not a number", encode(Heartbeat())],
            [b"\0" * 8, encode(Heartbeat()), b"", b""],
        ):
            with connected_dealer(context, **about) as dealer:  # type: ignore[arg-type]
                dealer.send_multipart(parts)
                assert dealer.poll(60_000)
                assert b"Refuse" in dealer.recv_multipart()[1]
        assert run.server.status().phase == "starting"
        assert len(run.server.status().notices) == 4


def send_without_end(played: Played) -> None:
    for _ in range(100_000):
        played.client.send(Heartbeat())


def test_what_the_driver_does_not_take_waits_and_has_a_bound() -> None:
    run = Troupe()
    run.server.close()
    with worker(run) as played:
        for _ in range(10_000):
            played.client.send(Heartbeat())
        with pytest.raises(RunError, match="does not keep up: 10000 messages wait for it"):
            send_without_end(played)
        assert not played.client.flush(timeout_s=0)
        played.client.close(linger_s=0)


def test_messages_beyond_what_zeromq_holds_arrive_in_order() -> None:
    with troupe() as run, worker(run) as played:
        played.client.send(register(0))
        for number in range(5000):
            played.client.send(Collected(task=0, component="totals", count=1, rows=str(number).encode()))
        assert played.client.flush(timeout_s=60)
        run.server.stop()
        played.hears(Stop)
        played.client.send(Left())
        end = run.server.wait(60)

    assert end is not None
    assert end.summary.collected == {"totals": tuple(str(number).encode() for number in range(5000))}


@pytest.mark.parametrize("small_talk", [Heartbeat(), Report(at_ns=1), Pulse()])
def test_small_talk_may_get_lost_and_shows_that_nothing_else_was(small_talk: Message) -> None:
    here, there = Numbering(), Numbering()
    here.stamp(small_talk)
    assert there.objection(here.stamp(small_talk), small_talk) is None
    assert there.objection(here.stamp(Ended(assignment=1)), Ended(assignment=1)) is None
    here.stamp(Ended(assignment=1))

    assert there.objection(here.stamp(small_talk), small_talk) == (
        "messages were lost on the way: number wanted=1 got=2"
    )


@pytest.mark.parametrize(("pause_s", "counted_s"), [(0.1, 0.1), (0.5, 0.5), (3600.0, 0.5)])
def test_time_in_which_nobody_looked_does_not_count(pause_s: float, counted_s: float) -> None:
    clock = Clock()
    attentive = AttentiveClock(most_s=0.5, clock=clock)
    clock.passes(0.25)
    assert attentive.now_s() == 0.25
    clock.passes(pause_s)
    assert attentive.now_s() == pytest.approx(0.25 + counted_s)
