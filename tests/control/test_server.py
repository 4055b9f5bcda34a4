"""The driver's thread and the workers' ends, over real sockets."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import pytest

from penstock.control.admin import AdminClient
from penstock.control.controller import Controller
from penstock.control.events import HostEnded
from penstock.control.instructions import Fail, Finish
from penstock.control.keys import RunKeys
from penstock.control.peers import PeerChanged
from penstock.control.protocol import (
    Admit,
    AskStatus,
    Begin,
    Collected,
    Deploy,
    Ended,
    FromController,
    Left,
    Pulse,
    Ready,
    Refuse,
    Stop,
)
from penstock.control.server import ControlServer
from penstock.control.settings import ControlSettings
from penstock.control.status import Phase
from penstock.control.wire import address_towards
from penstock.errors import RunError, StartError
from penstock.transport.descriptor_watch import DescriptorWatch
from penstock.transport.ring import RingReader, RingSettings
from tests.control.stage import PLAN, register
from tests.control.troupe import Clock, IdleHost, troupe, worker
from tests.ring.patience import PATIENCE_S, wait_until


def test_a_whole_run() -> None:
    with troupe(workers=2) as run, worker(run) as first, worker(run) as second:
        wait_until(lambda: len(run.host.started) == 2, "both workers asked for")
        for number, played in enumerate((first, second)):
            played.client.send(register(number))
        for played in (first, second):
            told = played.hears(Deploy)
            played.client.send(Ready(assignment=told.assignment.number))
        for played in (first, second):
            played.hears(Begin)
            played.client.send(Collected(task=0, component="totals", count=1, rows=b"\x91\x01"))
            played.client.send(Ended(assignment=1))
        for played in (first, second):
            played.hears(Stop)
            played.client.send(Left())

        end = run.server.wait(60)

        assert isinstance(end, Finish)
        assert end.summary.status.phase is Phase.ENDED
        assert end.summary.collected == {"totals": (b"\x91\x01", b"\x91\x01")}
        assert run.host.stopped == []


def test_a_run_that_goes_on_is_not_over() -> None:
    with troupe() as run:
        assert run.server.wait(0) is None


def test_heartbeats_are_sent_and_answered_without_anybody_asking() -> None:
    clock = Clock()
    with troupe() as run, worker(run, clock=clock) as played:
        played.client.send(register(0))
        played.hears(Admit)
        clock.passes(1)
        played.hears(Pulse)
        assert played.client.driver_gone is None


def test_a_large_topology_arrives_whole() -> None:
    blob = bytes(range(256)) * 100_000
    keys = RunKeys.make()
    controller = Controller(msgspec.structs.replace(PLAN, blob=blob), ControlSettings(workers=1))
    with troupe() as run:
        run.server.close()
        run.server, run.keys = ControlServer(controller, keys=keys), keys
        with run.server, worker(run) as played:
            run.server.launch(run.host)
            played.client.send(register(0))
            assert played.hears(Deploy).topology == blob


def test_a_replaced_worker_and_its_peer_are_told() -> None:
    with troupe(workers=2) as run, worker(run) as old, worker(run) as other, worker(run) as new:
        old.client.send(register(0, attempt=1))
        other.client.send(register(1))
        old.hears(Deploy)
        new.client.send(register(0, attempt=2))

        assert "a newer attempt is worker 0 now" in old.hears(Refuse).reason
        assert new.hears(Admit).generation == 2
        assert other.hears(PeerChanged).peer.generation == 2


def test_the_handle_and_the_command_line_get_the_same_answers() -> None:
    with troupe(workers=3) as run, worker(run) as played:
        played.client.send(register(1))
        played.hears(Admit)
        endpoint, keys = run.server.endpoint, run.keys
        with AdminClient(endpoint=endpoint, server_public=keys.server.public, keys=keys.client) as admin:
            here, there = run.server.status(), admin.status()
            assert [(one.worker, one.state) for one in there.workers] == [
                (0, "awaited"),
                (1, "admitted"),
                (2, "awaited"),
            ]
            assert [one.pid for one in here.workers] == [one.pid for one in there.workers]
            assert admin.metrics() == run.server.metrics()
            admin.stop()
            played.hears(Stop)
            played.client.send(Left())
            assert isinstance(run.server.wait(60), Finish)
            with pytest.raises(RunError, match="has ended already"):
                admin.drain()
            with pytest.raises(RunError, match="has ended already"):
                run.server.stop()


def test_many_threads_may_ask_at_once() -> None:
    with troupe() as run, ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: run.server.status().run, range(200)))

    assert answers == [PLAN.run] * 200


@pytest.mark.parametrize(
    ("demand", "culprit"),
    [
        (
            lambda server: server.scale("split", "3"),
            r"AskScale\(.*'3'\) cannot be asked: Expected `int`, got `str`",
        ),
        (lambda server: server.scale("split", 2.5), r"tasks=2.5\) cannot be asked: Expected `int`, got `float`"),
        (lambda server: server.move("split[0]", None), r"worker=None\) cannot be asked: Expected `int`, got `null`"),
        (lambda server: server.move(object(), 1), r"AskMove\(.* cannot be asked: .*object is unsupported"),
        (lambda server: server.tune_scheduling({"load_alpha": b"1"}), r"b'1'}\) cannot be asked: Expected `.*bytes`"),
        (lambda server: server.tune_scheduling({"load_alpha": [1]}), r"\[1\]}\) cannot be asked: Expected `.*array`"),
    ],
)
def test_what_is_of_a_wrong_type_is_refused_and_the_run_goes_on(demand: Any, culprit: str) -> None:
    with troupe() as run, worker(run) as played:
        played.client.send(register(0))
        played.client.send(Ready(assignment=played.hears(Deploy).assignment.number))
        played.hears(Begin)
        with pytest.raises(RunError, match=culprit):
            demand(run.server)
        assert run.server.status().phase is Phase.RUNNING


def test_nobody_answers_for_a_server_that_is_closed() -> None:
    with troupe() as run:
        run.server.close()
        with pytest.raises(RunError, match="is not running"):
            run.server.status()
        assert not run.server.post(HostEnded(worker=0, launch=1))
        run.server.close()


def test_an_admin_whose_run_is_gone_is_told() -> None:
    with troupe() as run:
        endpoint, keys = run.server.endpoint, run.keys
    with (
        AdminClient(endpoint=endpoint, server_public=keys.server.public, keys=keys.client) as admin,
        pytest.raises(RunError, match=r"the run at tcp://127.0.0.1:\d+ did not answer within 0.05 s"),
    ):
        admin.ask(AskStatus(), timeout_s=0.05)
    with pytest.raises(RunError, match="is closed"):
        admin.status()


class BrokenHost(IdleHost):
    def start_worker(self, worker: int, launch: int) -> None:
        super().start_worker(worker, launch)
        message = "no SparkSession"
        raise ConnectionError(message)


def test_a_host_that_cannot_start_a_worker_fails_the_start() -> None:
    with troupe() as run:
        run.server.close()
        run.server = ControlServer(Controller(PLAN, ControlSettings(workers=1)), keys=run.keys)
        with run.server:
            run.server.launch(BrokenHost())
            end = run.server.wait(60)
    assert isinstance(end, Fail)
    assert isinstance(end.error, StartError)
    assert "ConnectionError: no SparkSession" in str(end.error)


def test_a_controller_that_breaks_down_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    with troupe() as run:
        assert run.server.status().phase is Phase.STARTING

        def broken(*_: object) -> None:
            message = "a bug"
            raise AssertionError(message)

        monkeypatch.setattr(run.controller, "handle", broken)
        with pytest.raises(RunError, match=r"broke down:\nTraceback(.|\n)*AssertionError: a bug"):
            run.server.wait(60)
        with pytest.raises(RunError, match=r"not running|has stopped"):
            run.server.status()


def test_two_runs_listen_side_by_side_and_do_not_meet() -> None:
    with troupe() as one, troupe() as two, worker(one) as played:
        assert one.server.endpoint != two.server.endpoint
        played.client.send(register(0))
        played.hears(Admit)
        assert one.server.status().workers[0].state == "deployed"
        assert two.server.status().workers[0].state == "awaited"


def test_an_address_that_is_not_ours_is_named() -> None:
    with pytest.raises(RunError, match=r"the controller cannot listen on '203\.0\.113\.7'"):
        ControlServer(Controller(PLAN, ControlSettings(workers=1)), keys=RunKeys.make(), bind_host="203.0.113.7")


def test_the_published_address_may_differ_from_the_bound_one() -> None:
    controller = Controller(PLAN, ControlSettings(workers=1))
    with ControlServer(controller, keys=RunKeys.make(), bind_host="127.0.0.1", public_host="driver.example") as server:
        assert server.endpoint.startswith("tcp://driver.example:")


def test_the_address_towards_this_machine_is_its_own() -> None:
    assert address_towards("127.0.0.1") == "127.0.0.1"


def test_the_thread_ends_with_the_server() -> None:
    with troupe():
        assert any(thread.name == "penstock-control" for thread in threading.enumerate())
    assert not any(thread.name == "penstock-control" for thread in threading.enumerate())


def test_whoever_polls_after_it_has_sent_can_sleep_until_the_descriptor_says_more() -> None:
    """A worker sleeps at its inbox. ZeroMQ looks at what has come also when it sends, and is quiet about it then."""
    small = RingSettings(capacity_bytes=1 << 16)
    with (
        troupe() as run,
        worker(run) as played,
        RingReader.create(small) as inbox,
        DescriptorWatch(inbox) as watch,
    ):
        client, heard = played.client, list[FromController]()
        watch.add(client.descriptor, 1)
        client.send(register(0))
        for awaited, answer in ((Deploy, Ready(assignment=1)), (Begin, Ended(assignment=1)), (Stop, Left())):
            while not any(isinstance(message, awaited) for message in heard):
                if not client.wants_poll:
                    inbox.read_many(timeout_s=PATIENCE_S)
                    assert inbox.take_bell() == 1, f"nobody woke it for {awaited.__name__}"
                heard += client.poll()
                watch.rearm(client.descriptor)
            client.send(answer)
        assert isinstance(run.server.wait(60), Finish)
