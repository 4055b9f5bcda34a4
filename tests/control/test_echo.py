"""The connections beside a worker's own: its echo, and what says which call it is in."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator

import msgspec
import pytest

from penstock.control import patience
from penstock.control.echo import Echo
from penstock.control.protocol import Deploy, Ready, Trying
from penstock.control.slow_calls import SlowCalls, call_of
from penstock.control.ticket import Ticket
from penstock.transport.links import LinkKeys
from tests.control.stage import PLAN, register
from tests.control.test_rewinds import SHAPE
from tests.control.troupe import Played, Troupe, troupe, worker
from tests.ring.patience import PATIENCE_S, wait_until


def ticket_of(run: Troupe, keys: LinkKeys | None = None) -> Ticket:
    return Ticket(
        run="run-1",
        worker=0,
        launch=1,
        endpoint=run.server.endpoint,
        server_public=run.keys.server.public,
        keys=keys or run.keys.client,
    )


@pytest.fixture
def run() -> Iterator[Troupe]:
    seems_dead_s = patience._RECONNECTS_WITHIN_S
    with troupe(detection_s=2.0, restart_after_s=1000.0, reconnects_within_s=seems_dead_s) as made:
        yield made


def begun(played: Played) -> None:
    played.client.send(register(0))
    told = played.hears(Deploy)
    played.client.send(Ready(assignment=told.assignment.number))
    assert played.client.flush()


def is_silent(run: Troupe) -> bool:
    return run.server.status().workers[0].state == "silent"


def has_notice(run: Troupe, text: str) -> bool:
    return any(text in notice for notice in run.server.status().notices)


def test_a_worker_that_says_nothing_is_reached_by_its_echo_and_only_by_it(run: Troupe) -> None:
    with worker(run) as played:
        with Echo(ticket_of(run), played.client.name):
            begun(played)
            wait_until(lambda: run.server.status().run_s > 5.0, "longer than it takes to be taken for silent")
            # On a busy machine the echo may be late for a while. One that says nothing is heard of by nothing else.
            wait_until(lambda: not is_silent(run), "it is reached by its echo")
        wait_until(lambda: is_silent(run), "without its echo it is out of reach")


def test_nobody_reaches_the_run_with_another_key(run: Troupe) -> None:
    with worker(run) as played, Echo(ticket_of(run, LinkKeys.make()), played.client.name):
        begun(played)
        wait_until(lambda: has_notice(run, "is silent"), "an echo with another key is none")


def test_an_echo_that_nobody_ever_called_ends(run: Troupe) -> None:
    run.server.close()
    with Echo(ticket_of(run), b"somebody"):
        assert any(thread.name == "penstock-echo" for thread in threading.enumerate())
    assert not any(thread.name == "penstock-echo" for thread in threading.enumerate())


def test_what_turns_is_not_told_of_and_what_is_no_task_is_not_either(run: Troupe) -> None:
    looked = threading.Semaphore(0)

    def turns() -> int:
        looked.release()
        return 1  # it never turns

    with SlowCalls(ticket_of(run), b"somebody", turns, look_every_s=0.01):
        for _ in range(5):
            assert looked.acquire(timeout=PATIENCE_S)
    assert call_of(None) is None
    assert run.server.status().notices == ()


def test_a_note_is_there_before_the_call_and_what_else_was_said_is_not_lost() -> None:
    """Exactly once, for only then notes are taken. One without an answer would be waited for until the test fails."""
    plan = msgspec.structs.replace(PLAN, checkpoint_url="file:///there", shape=SHAPE)
    with troupe(plan, delivery="exactly_once") as run, worker(run, driver_silence_s=math.inf) as played:
        played.client.send(register(0))
        played.client.confirm(Trying(task=1, tuples=(1,), alone=True))
        played.hears(Deploy)
        assert played.client.driver_gone is None


def test_a_note_that_nobody_takes_is_not_waited_for_for_ever(run: Troupe) -> None:
    with worker(run, driver_silence_s=0.05) as played:
        run.server.close()
        played.client.confirm(Trying(task=1, tuples=(1,), alone=True))
