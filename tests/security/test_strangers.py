"""A stranger on a port gets nowhere: whatever it sends, friends are served, and nothing of it is heard."""

from __future__ import annotations

import contextlib
import resource
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import zmq

from penstock.control.admin import AdminClient
from penstock.control.codec import encode
from penstock.control.controller import Controller
from penstock.control.keys import RunKeys
from penstock.control.metrics import TaskCounts
from penstock.control.numbering import Numbering
from penstock.control.protocol import AskMetrics, AskStatus, Deploy, Report
from penstock.control.server import ControlServer
from penstock.control.settings import ControlSettings
from penstock.errors import RunError
from penstock.transport import gate
from penstock.transport.links import LinkKeys, LinkReceiver, LinkSender
from tests.control.stage import PLAN, register
from tests.control.troupe import Clock, troupe, worker
from tests.ring.patience import wait_until
from tests.security.ports import PORTS, ROUTE, Port, receiving
from tests.security.strangers import (
    CURVE,
    HALF_OPEN,
    TURNED_AWAY,
    Recorder,
    everything_heard,
    long_frame,
    plain_client,
)

FLOOD = 300
ASKED = AskStatus()
ASK_STATUS = [Numbering().stamp(ASKED), encode(ASKED)]


@pytest.fixture(params=PORTS)
def port(request: pytest.FixtureRequest) -> Iterator[Port]:
    with PORTS[request.param]() as opened:
        yield opened


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ports that wait only briefly for a handshake. To be asked for before the port."""
    monkeypatch.setattr(gate, "_HANDSHAKE_WITHIN_MS", 300)


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


@pytest.mark.parametrize("said", TURNED_AWAY)
def test_what_is_no_handshake_is_cut_off(port: Port, said: str) -> None:
    with plain_client(port.endpoint, TURNED_AWAY[said]) as stranger:
        everything_heard(stranger)
        port.serves_friends_only()


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("said", HALF_OPEN)
def test_half_a_handshake_is_not_waited_for_for_ever(port: Port, said: str) -> None:
    with plain_client(port.endpoint, HALF_OPEN[said]) as stranger:
        everything_heard(stranger)
        port.serves_friends_only()


@pytest.mark.usefixtures("hasty")
def test_a_flood_of_half_open_connections_keeps_nobody_out_and_is_cut_off(port: Port) -> None:
    with contextlib.ExitStack() as stack:
        flood = [stack.enter_context(plain_client(port.endpoint, CURVE)) for _ in range(FLOOD)]
        port.serves_friends_only()
        for stranger in flood:
            everything_heard(stranger)


def test_a_flood_of_hasty_connections_keeps_nobody_out(port: Port) -> None:
    for _ in range(FLOOD):
        with plain_client(port.endpoint, CURVE):
            pass
    port.serves_friends_only()


def test_lengths_that_lie_take_no_memory(port: Port) -> None:
    before = resident_bytes()
    with contextlib.ExitStack() as stack:
        for _ in range(20):
            stack.enter_context(plain_client(port.endpoint, CURVE + long_frame(60 << 20, bytes(1000))))
        port.serves_friends_only()
        assert resident_bytes() - before < 60 << 20


def test_a_flood_of_wrong_keys_keeps_nobody_out(port: Port) -> None:
    with zmq.Context() as context, contextlib.ExitStack() as stack:
        for _ in range(50):
            stack.enter_context(port.connected(context, LinkKeys.make()))
        port.serves_friends_only()


def test_the_secret_is_needed_and_not_only_what_is_public(port: Port) -> None:
    forged = LinkKeys(public=port.keys.public, secret=LinkKeys.make().secret)
    with zmq.Context() as context, port.connected(context, forged) as stranger:
        stranger.setsockopt(zmq.LINGER, 0)
        with contextlib.suppress(zmq.Again):
            stranger.send_multipart([b"0", b"1"], zmq.NOBLOCK)
        port.serves_friends_only()


# ---- what an honest peer said, said again by somebody else


def test_a_recorded_registration_is_worth_nothing() -> None:
    with troupe() as run:
        with Recorder(run.server.endpoint) as recorder, worker(run, endpoint=recorder.endpoint) as honest:
            honest.client.send(register(0))
            wait_until(lambda: run.server.status().workers[0].generation == 1, "the honest worker is admitted")
        with plain_client(run.server.endpoint, recorder.said) as stranger:
            everything_heard(stranger)
        status = run.server.status()

    assert len(recorder.said) > 500
    assert status.workers[0].generation == 1
    assert status.notices == ()


def test_a_recorded_frame_is_worth_nothing() -> None:
    keys = LinkKeys.make()
    with receiving(keys) as (ring, receiver):
        with Recorder(receiver.endpoint) as recorder:
            honest = LinkSender(endpoint=recorder.endpoint, keys=keys, high_water_frames=10)
            wait_until(lambda: honest.try_send(ROUTE, b"once"), "room to send")
            first = ring.read(100)
            honest.close()
        with plain_client(receiver.endpoint, recorder.said) as stranger:
            everything_heard(stranger)
        again = ring.read(0)

    assert first is not None
    assert b"once" not in recorder.said, "a frame travelled in the open"
    assert again is None


def test_a_registration_said_twice_with_the_runs_own_keys_is_refused() -> None:
    with troupe() as run, worker(run) as first, worker(run) as second:
        first.client.send(register(0))
        wait_until(lambda: run.server.status().workers[0].generation == 1, "the first is admitted")
        second.client.send(register(0))
        wait_until(lambda: second.client.poll() or run.server.status().notices, "an answer")

        assert "was admitted already" in run.server.status().notices[0]
        assert run.server.status().workers[0].generation == 1


# ---- of another run


def test_a_worker_of_another_run_does_not_get_in() -> None:
    clock = Clock()
    with (
        troupe() as other,
        troupe() as run,
        worker(run, keys=other.keys.client, clock=clock) as lost,
    ):
        lost.client.send(register(0))

        def gives_up() -> bool:
            assert lost.client.poll() == []
            clock.passes(0.4)
            return lost.client.driver_gone is not None

        wait_until(gives_up, "it gives up")
        assert run.server.status().notices == ()
        assert run.server.status().workers[0].state == "awaited"


def test_a_worker_with_the_right_keys_and_the_wrong_run_is_refused() -> None:
    with troupe() as run, worker(run) as lost:
        lost.client.send(register(0, run="another"))
        wait_until(lambda: run.server.status().notices, "a notice")

        assert "this is run 'run-1', and not 'another'" in run.server.status().notices[0]
        assert run.server.status().workers[0].state == "awaited"


# ---- who only pretends to be the driver, or a peer


def test_a_worker_obeys_nobody_but_the_holder_of_the_drivers_secret() -> None:
    """Even one who has everything that a worker has: another worker's keys."""
    clock = Clock()
    with troupe() as run:
        pretended = RunKeys(server=LinkKeys.make(), client=run.keys.client)
        with ControlServer(Controller(PLAN, ControlSettings(workers=1)), keys=pretended) as impostor:
            impostor.launch(run.host)
            with worker(run, endpoint=impostor.endpoint, clock=clock) as honest:
                honest.client.send(register(0))

                def gives_up() -> bool:
                    assert honest.client.poll() == []
                    clock.passes(0.4)
                    return honest.client.driver_gone is not None

                wait_until(gives_up, "it gives up")
            assert impostor.status().workers[0].state == "awaited"


def test_frames_are_sent_to_nobody_but_a_holder_of_the_runs_secret() -> None:
    keys, others = LinkKeys.make(), LinkKeys.make()
    impostor_keys = LinkKeys(public=keys.public, secret=others.secret)
    with receiving(impostor_keys) as (ring, impostor):
        sender = LinkSender(endpoint=impostor.endpoint, keys=keys, high_water_frames=10)
        try:
            sender.try_send(ROUTE, b"for friends only")
            assert ring.read(0.5) is None
        finally:
            sender.close()


# ---- who has the keys, and misbehaves


def test_who_takes_the_name_of_the_drivers_own_calls_is_cut_off() -> None:
    with troupe() as run, zmq.Context() as context:
        mischief = threading.Event()

        def asks() -> None:
            with context.socket(zmq.DEALER) as thief:
                thief.linger = 0
                thief.curve_serverkey = run.keys.server.public
                thief.curve_publickey, thief.curve_secretkey = run.keys.client.public, run.keys.client.secret
                thief.routing_id = b"local:7"
                thief.connect(run.server.endpoint)
                while not mischief.is_set():
                    with contextlib.suppress(zmq.Again):
                        thief.send_multipart(ASK_STATUS, zmq.NOBLOCK)

        thread = threading.Thread(target=asks)
        thread.start()
        try:
            wait_until(lambda: run.server.status().notices, "the thief is noticed")
            for _ in range(200):
                assert run.server.status().run == "run-1"
        finally:
            mischief.set()
            thread.join()
        assert "a name that is not for others" in run.server.status().notices[0]


@pytest.mark.parametrize(
    "parts",
    [
        [b""],
        [b"", b""],
        [bytes(8), b""],
        [bytes(8), b"PNSTK\x01"],
        [bytes(8), b"PNSTK\x01\xdd\xff\xff\xff\xff"],
        [bytes(8), b"PNSTK\x01" + b"\x91" * 100_000],
        [bytes(8), b"PNSTK\x01\x81\xa4type\xa7AskStop", b"more"],
        [b"\xff" * 8, b"PNSTK\x01\x81\xa4type\xa9AskStatus"],
        [bytes(8)] * 1000,
    ],
    ids=range(9),
)
def test_who_has_the_keys_and_says_what_is_no_message_is_told_so(parts: list[bytes]) -> None:
    with (
        troupe() as run,
        zmq.Context() as context,
        Port(run.server.endpoint, run.keys.server.public, run.keys.client, lambda: None).connected(context) as peer,
    ):
        peer.send_multipart(parts)
        assert peer.poll(100_000), "no answer"
        answer = peer.recv_multipart()

        assert b"Refuse" in answer[1]
        assert "a connection was cut off" in run.server.status().notices[0]


def test_counts_that_cannot_be_true_do_not_end_the_controller() -> None:
    most = 2**64 - 1
    with (
        troupe() as run,
        worker(run) as liar,
        AdminClient(endpoint=run.server.endpoint, server_public=run.keys.server.public, keys=run.keys.client) as admin,
    ):
        liar.client.send(register(0))
        liar.hears(Deploy)
        liar.client.send(Report(at_ns=most, tasks=tuple(TaskCounts(task=task, processed=most) for task in range(4))))
        wait_until(lambda: sum(task.processed for task in run.server.metrics().tasks) > most, "the report")
        with pytest.raises(RunError, match="did not answer"):
            admin.ask(AskMetrics(), timeout_s=0.2)

        assert run.server.status().workers[0].state == "deployed"


def test_who_sends_a_message_beyond_the_bound_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.control.wire._MOST_BYTES", 100_000)
    with PORTS["control"]() as port, zmq.Context() as context, port.connected(context) as peer:
        with peer.get_monitor_socket(zmq.EVENT_DISCONNECTED) as monitor:
            peer.send_multipart([bytes(8), bytes(200_000)])
            assert monitor.poll(100_000), "it was not cut off"
            peer.disable_monitor()
        port.serves_friends_only()


def test_a_link_takes_the_largest_frame_and_cuts_off_who_sends_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.transport.links._MOST_BYTES", 100_000 + 1024)
    keys = LinkKeys.make()
    with receiving(keys) as (ring, receiver):
        sender = LinkSender(endpoint=receiver.endpoint, keys=keys, high_water_frames=10)
        wait_until(lambda: sender.try_send(ROUTE, bytes(100_000)), "room to send")
        largest = ring.read(100)
        wait_until(lambda: sender.try_send(ROUTE, bytes(200_000)), "room to send")
        arrived: list[bytes] = []

        def comes_back() -> bool:
            """Some of these go down with the connection that is cut off."""
            sender.try_send(ROUTE, b"after")
            arrived.extend(bytes(record.payload) for record in ring.read_many(10, 0.01))
            return bool(arrived)

        wait_until(comes_back, "the sender comes back")
        sender.close()

    assert largest is not None
    assert len(largest.payload) == 100_000
    assert set(arrived) == {b"after"}


def test_a_receiver_that_cannot_listen_leaves_nothing() -> None:
    with pytest.raises(zmq.ZMQError):
        LinkReceiver(host="192.0.2.1", ring_address="none", keys=LinkKeys.make(), high_water_frames=10)
