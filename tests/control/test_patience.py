"""Workers that cannot be reached, and workers that are in a call of user code: told apart, and treated differently."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.control.events import Deserted, EpochCommitted, Severed, Tick
from penstock.control.instructions import CommitEpoch, SendTo
from penstock.control.membership import CALLS, ECHO
from penstock.control.peers import PeerGone
from penstock.control.protocol import (
    AskStop,
    Begin,
    Dying,
    Ended,
    Fatal,
    Heartbeat,
    InCall,
    Ping,
    Ready,
    TaskSaved,
    Trying,
)
from penstock.control.status import Phase
from tests.control.stage import TASKS, Stage, kinds, sent, starts, stops
from tests.control.test_rewinds import deploys, epochs, save_all, saved_task, stage_of


def notices(stage: Stage) -> str:
    return "\n".join(stage.status().notices)


def states(stage: Stage) -> list[str]:
    return [worker.state for worker in stage.status().workers]


# ---- calls of user code


def test_everybody_is_called_several_times_a_second() -> None:
    stage = Stage(workers=2)
    first, second = stage.runs()
    for connection in (first, second):
        assert sent(stage.happens(Tick()), connection + ECHO) == [Ping()]


def test_who_answers_and_does_not_speak_is_not_silent() -> None:
    stage = Stage(workers=2, detection_s=1, restart_after_s=2, slow_call_s=5, max_call_s=60)
    first, second = stage.runs()
    said = stage.passes(59, second, busy=[first])
    assert stops(said) == []
    assert states(stage) == ["begun", "begun"]
    assert "worker 0 on host-0 (pid 1000, generation 1) has been in a call of user code for 5 s" in notices(stage)
    assert "silent" not in notices(stage)


def test_the_call_is_named_if_the_worker_could_say_it() -> None:
    stage = Stage(workers=1, slow_call_s=5)
    (only_one,) = stage.runs()
    stage.says(only_one + CALLS, InCall(component="split", task=1, place="Split.process (topology.py:12)"))
    stage.passes(6, busy=[only_one])
    assert "has been in a call of 'split' (task 1), in Split.process (topology.py:12) for 5 s" in notices(stage)

    stage.says(only_one, Heartbeat())
    stage.passes(6, busy=[only_one])
    assert "has been in a call of user code for 5 s" in notices(stage), "that was another call"


def test_a_call_without_an_end_costs_the_worker_its_seat() -> None:
    stage = Stage(workers=2, max_call_s=60)
    hung, second = stage.runs()
    stage.says(hung + CALLS, InCall(component="split", task=1, place="Split.process (topology.py:12)"))
    assert stops(stage.passes(61, second, busy=[hung])) == [(0, 1)]
    assert "is lost: it hangs, for 60 s in a call of 'split' (task 1), in Split.process" in notices(stage)
    assert starts(stage.host_ends(0)) == [(0, 2)]


# ---- processes that are out of reach


@pytest.mark.parametrize("exactly_once", [True, False])
def test_who_is_out_of_reach_is_restarted_after_a_while(exactly_once: bool) -> None:
    stage = stage_of() if exactly_once else Stage(workers=2)
    _, second = stage.runs()
    patience_s = stage.settings.detection_s + stage.settings.restart_after_s
    assert stops(stage.passes(patience_s - 0.5, second)) == []
    assert stops(stage.passes(0.75, second)) == [(0, 1)]
    assert "worker 0 on host-0 (pid 1000, generation 1) is lost: silent for" in notices(stage)


def test_one_that_opens_its_tasks_can_be_out_of_reach_too() -> None:
    stage = Stage(workers=2, restart_after_s=5, ready_timeout_s=300)
    first, _ = stage.starts()
    assert stops(stage.passes(7, busy=[first])) == [(1, 1)]


def test_one_whose_connection_is_gone_is_not_waited_for() -> None:
    """A process that dies says nothing, and the kernel closes its connections."""
    stage = stage_of(workers=3)
    first, dead, third = stage.runs()
    stage.happens(Deserted(connection=dead + ECHO))
    said = stage.passes(0.5, first, third)
    (again,) = deploys(said, first)
    assert again.assignment.workers() == (0, 2)
    assert again.care is not None, "perhaps it died of a tuple"
    assert "worker 1 on host-1 (pid 1001, generation 1) is silent: it is dead" in notices(stage)


@pytest.mark.parametrize("noticed", ["its process is dead", "a newer attempt took its place", "exit code 1"])
def test_what_a_worker_died_of_is_told_if_it_could_say_it(noticed: str) -> None:
    stage = Stage(workers=2, max_restarts=0)
    first, dying = stage.runs()
    stage.says(dying, Dying(traceback="Traceback: PanicException"))
    assert "lost" not in notices(stage), "its process is there still"
    if noticed == "its process is dead":
        stage.says(first, PeerGone(worker=1, generation=1))
    elif noticed == "exit code 1":
        stage.host_ends(1, error=noticed)
    else:
        stage.comes(1, attempt=1)
    text = f"{noticed}:\nTraceback: PanicException"
    assert f"worker 1 on host-1 (pid 1001, generation 1) is lost: {text}" in notices(stage)
    assert text in str(stage.status().error)


def test_a_death_that_is_noticed_twice_is_one_death() -> None:
    """First its connection is gone, and then another process comes in its place."""
    stage = stage_of(workers=3)
    first, dead, third = stage.runs()
    for attempt in (1, 2, 3):
        stage.says(dead, Trying(task=1, tuples=(7,), alone=True))
        stage.happens(Deserted(connection=dead + ECHO))
        stage.passes(0.5, first, third)
        dead = stage.comes(1, attempt=attempt)
    (again,) = deploys(stage.says(first, PeerGone(worker=2, generation=1)), first)
    assert again.care is not None
    assert again.care.given_up == {"split": {7: 3}}


def test_one_whose_connection_is_there_again_was_not_dead() -> None:
    stage = stage_of(workers=3)
    first, there, third = stage.runs()
    for _ in range(10):
        stage.happens(Deserted(connection=there + ECHO))
        assert deploys(stage.passes(0.25, first, third), first) == []
        stage.says(there + ECHO, Ping())
    stage.happens(Deserted(connection=b"stranger" + ECHO))


@given(st.lists(st.floats(0.0, 0.99), max_size=50), st.booleans())
def test_short_gaps_in_the_answers_have_no_consequence(gaps_s: list[float], exactly_once: bool) -> None:
    stage = stage_of(epoch_s=1000.0) if exactly_once else Stage(workers=2)
    first, second = stage.runs()
    before = len(stage.said)
    for gap_s in gaps_s:
        stage.now_s += gap_s
        stage.happens(Tick())
        stage.says(first, Heartbeat())
        stage.says(second + ECHO, Ping())
    for connection in (first, second):
        assert {*kinds(stage.said[before:], connection)} <= {"BeginEpoch"}
    assert stops(stage.said) == []
    assert "silent" not in notices(stage)


def test_exactly_once_everything_goes_on_without_one_that_is_out_of_reach() -> None:
    stage = stage_of(workers=3)
    first, gone, third = stage.runs()
    assert deploys(stage.passes(1.25, first, third), first) == [], "it may be back in a moment"
    said = stage.passes(0.5, first, third)
    (again,) = deploys(said, first)
    assert again.assignment.workers() == (0, 2)
    assert deploys(said, gone) == []
    assert stops(said) == [], "it has not been given up"
    assert again.care is None, "nobody has died"
    assert "everything goes on without worker 1 on host-1 (pid 1001, generation 1)" in notices(stage)
    assert states(stage)[1] == "silent"
    assert deploys(stage.passes(2, first, third), first) == [], "once is enough"


def left_out() -> tuple[Stage, list[bytes]]:
    """Of three workers, the second is out of reach, and the others have gone on without it."""
    stage = stage_of(workers=3)
    first, gone, third = stage.runs()
    stage.passes(1.75, first, third)
    for connection in (first, third):
        stage.says(connection, Ready(assignment=2))
    return stage, [first, gone, third]


@pytest.mark.parametrize("speaks", [True, False])
def test_one_that_comes_back_drops_its_tasks_and_gets_others_at_the_next_commit(speaks: bool) -> None:
    stage, (first, back, third) = left_out()
    said = stage.says(back, Heartbeat()) if speaks else stage.says(back + ECHO, Ping())
    (nothing,) = deploys(said, back)
    assert nothing.assignment.tasks_on(1) == ()
    assert deploys(said, first) == []
    stage.says(back, Ready(assignment=2))
    (epoch,) = epochs(stage.passes(1.5, first, back, third), first)
    save_all(stage, first, epoch, assignment=2)
    said = stage.happens(EpochCommitted(epoch=epoch))
    for connection in (first, back, third):
        (again,) = deploys(said, connection)
        assert (again.assignment.number, again.assignment.workers()) == (3, (0, 1, 2))
    for connection in (first, back, third):
        said = stage.says(connection, Ready(assignment=3))
    assert {one.connection for one in said if isinstance(one, SendTo) and isinstance(one.message, Begin)} == {
        first,
        back,
        third,
    }
    assert stage.status().restarts == 0


def test_what_one_that_was_left_out_says_of_its_tasks_does_not_count() -> None:
    stage, (first, back, third) = left_out()
    (epoch,) = epochs(stage.passes(1.25, first, third), first)
    for task in TASKS:
        late = TaskSaved(assignment=1, task=task.id, epoch=epoch, saved=saved_task(task.id))
        assert not [one for one in stage.says(back, late) if isinstance(one, CommitEpoch)]
    stage.says(back, Ended(assignment=1))
    stage.says(first, Ended(assignment=1))
    stage.passes(0.5, first, back, third)
    assert stage.phase() is Phase.RUNNING
    save_all(stage, first, epoch, assignment=2)


def test_an_error_of_one_that_was_left_out_does_not_end_the_run() -> None:
    stage, (_, back, _) = left_out()
    assert stops(stage.says(back, Fatal(traceback="Traceback: what I had prepared is gone"))) == [(1, 1)]
    assert stage.phase() is Phase.RUNNING
    assert "could not go on" in notices(stage)


def test_one_that_comes_back_again_and_again_is_given_more_time_each_time() -> None:
    stage = stage_of(workers=2, restart_after_s=100.0)
    first, shaky = stage.runs()
    waited_s = []
    for assignment in (2, 4, 6, 8):
        began_s = stage.now_s
        while not deploys(stage.passes(0.25, first), first):
            assert stage.now_s < began_s + 60
        waited_s.append(stage.now_s - began_s - stage.settings.detection_s)
        stage.says(first, Ready(assignment=assignment))
        stage.says(shaky + ECHO, Ping())
        stage.says(shaky, Ready(assignment=assignment))
        (epoch,) = epochs(stage.passes(2, first, shaky), first)[:1]
        save_all(stage, first, epoch, assignment=assignment)
        stage.happens(EpochCommitted(epoch=epoch))
        for connection in (first, shaky):
            stage.says(connection, Ready(assignment=assignment + 1))
    assert waited_s == [0.5, 1.0, 2.0, 4.0]


def test_if_all_are_out_of_reach_it_is_the_driver_and_nothing_is_set_back() -> None:
    stage = stage_of(workers=3, restart_after_s=100)
    connections = stage.runs()
    said = stage.passes(30)
    for connection in connections:
        said += stage.says(connection + ECHO, Ping())
    said += stage.passes(2, *connections)
    for connection in connections:
        assert deploys(said, connection) == []
    assert states(stage) == ["begun"] * 3


def test_one_that_dies_after_it_was_left_out_costs_nothing_more() -> None:
    stage, (first, _, third) = left_out()
    said = stage.says(first, PeerGone(worker=1, generation=1))
    assert deploys(said, first) == deploys(said, third) == []
    assert states(stage)[1] == "awaited"


def test_exactly_once_a_worker_that_dies_after_its_end_is_missed() -> None:
    """What it has of the last epoch is not committed yet."""
    stage = stage_of(workers=2)
    first, second = stage.runs()
    stage.says(second, Ended(assignment=1))
    said = stage.says(first, PeerGone(worker=1, generation=1))
    (again,) = deploys(said, first)
    assert again.assignment.workers() == (0,)
    assert stage.comes(1, attempt=1)
    assert states(stage)[1] == "admitted"


def test_stopping_does_not_wait_for_one_that_was_left_out() -> None:
    stage, _ = left_out()
    assert stops(stage.says(b"visitor", AskStop())) == [(1, 1)]


# ---- what comes beside


def test_what_comes_beside_is_never_answered_for_an_echo_would_send_it_back() -> None:
    stage = Stage(workers=1)
    (only_one,) = stage.runs()
    for name in (only_one, b"stranger"):
        for end in (ECHO, CALLS):
            assert stage.says(name + end, Ping()) == []
            assert stage.says(name + end, InCall(component="split", task=1, place="there")) == []
            assert stage.happens(Severed(connection=name + end, reason="garbage")) == []
