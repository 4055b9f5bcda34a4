"""Workers that are lost, replaced, fenced and readmitted."""

import pytest

from penstock.control.events import Launch, Severed
from penstock.control.peers import PeerChanged, PeerGone, PeerLost, PeerSilent
from penstock.control.protocol import AskDrain, AskStop, Ended, Heartbeat, Left, LinkBroken, Ready, Refuse, TasksEnded
from penstock.control.status import Phase
from penstock.errors import RunError
from penstock.flow.delivery import Delivery
from tests.control.stage import Stage, deploy, kinds, only, sent, starts, stops


def test_a_newer_attempt_takes_the_seat_and_the_others_are_told() -> None:
    stage = Stage(workers=2)
    first, second = stage.runs()
    before = len(stage.said)

    newer = stage.comes(0, attempt=1)

    said = stage.said[before:]
    assert kinds(said, first) == ["Refuse"]
    assert kinds(said, newer) == ["Admit", "Deploy"]
    changed = only(said, second, PeerChanged).peer
    assert (changed.worker, changed.generation, changed.ring_address) == (0, 2, "ring-0-1-1")
    assert deploy(said, newer).assignment == deploy(stage.said, second).assignment
    assert changed in deploy(said, newer).peers
    assert kinds(stage.says(newer, Ready(assignment=1)), newer) == ["Begin"]
    assert stage.status().restarts == 1


def test_what_the_replaced_one_still_says_is_ignored() -> None:
    stage = Stage(workers=2)
    first, second = stage.runs()
    newer = stage.comes(0, attempt=1)
    stage.says(newer, Ready(assignment=1))

    assert kinds(stage.says(first, Ended(assignment=1)), first) == ["Refuse"]
    assert stage.says(first, Left()) == []
    stage.says(second, Ended(assignment=1))

    assert stage.phase() is Phase.RUNNING


@pytest.mark.parametrize("gone", [True, False])
def test_a_late_duplicate_of_an_older_attempt_is_refused_even_if_the_seat_is_empty(gone: bool) -> None:
    stage = Stage(workers=1)
    stage.happens(Launch())
    newer = stage.comes(0, attempt=5)
    stage.says(newer, Ready(assignment=1))
    if gone:
        stage.says(newer, Left(reason="SIGTERM"))

    for attempt in (4, 5):
        late = stage.comes(0, attempt=attempt, connection=b"late")
        reason = only(stage.said[-1:], late, Refuse).reason
        assert f"attempt 5 of worker 0 was admitted already, and this is attempt {attempt}" in reason


def test_a_worker_replaced_while_it_opens_its_tasks_holds_the_beginning_up() -> None:
    stage = Stage(workers=2)
    first, second = stage.starts()
    stage.says(first, Ready(assignment=1))
    newer = stage.comes(0, attempt=1)

    stage.says(second, Ready(assignment=1))
    assert stage.phase() is Phase.DEPLOYING

    said = stage.says(newer, Ready(assignment=1))
    assert kinds(said, newer) == kinds(said, second) == ["Begin"]


def test_silence_is_noticed_and_forgiven() -> None:
    stage = Stage(workers=2, detection_s=3, restart_after_s=10)
    first, second = stage.runs()

    stage.passes(4, second)
    assert [worker.state for worker in stage.status().workers] == ["silent", "begun"]
    assert "worker 0 on host-0 (pid 1000, generation 1) is silent: it is stopped" in stage.status().notices[-1]
    assert only(stage.said, second, PeerSilent) == PeerSilent(worker=0, generation=1, silent=True)
    before = len(stage.said)

    assert kinds(stage.says(first, Heartbeat()), first) == []
    assert only(stage.said[before:], second, PeerSilent) == PeerSilent(worker=0, generation=1, silent=False)
    assert [worker.state for worker in stage.status().workers] == ["begun", "begun"]
    assert stops(stage.said) == []


def test_who_comes_hears_who_is_silent() -> None:
    """Else its broadcasts would go by way of those that nobody should depend on."""
    stage = Stage(workers=3, detection_s=3, restart_after_s=10)
    _, second, third = stage.runs()
    stage.passes(4, second, third)
    before = len(stage.said)
    newer = stage.comes(1, attempt=1)
    assert kinds(stage.said[before:], newer) == ["Admit", "Deploy", "PeerSilent"]
    assert only(stage.said[before:], newer, PeerSilent) == PeerSilent(worker=0, generation=1, silent=True)


@pytest.mark.parametrize("delivery", ["at_most_once", "at_least_once"])
def test_the_others_hear_of_a_loss_at_once(delivery: Delivery) -> None:
    stage = Stage(workers=3, delivery=delivery)
    first, second, third = stage.runs()
    before = len(stage.said)

    stage.says(first, PeerGone(worker=2, generation=1))

    for other in (first, second):
        assert only(stage.said[before:], other, PeerLost) == PeerLost(worker=2, generation=1)
    assert kinds(stage.said[before:], third) == []


def test_who_has_no_tasks_yet_hears_nothing_of_others() -> None:
    stage = Stage(workers=2, detection_s=3, restart_after_s=10)
    stage.happens(Launch())
    first = stage.comes(0)
    stage.says(first, Left(reason="SIGTERM"))
    second = stage.comes(1)
    stage.passes(4)
    assert kinds(stage.said, second) == ["Admit"]


def test_a_worker_that_hangs_is_ended_and_started_anew() -> None:
    stage = Stage(workers=2, detection_s=3, restart_after_s=10)
    hung, second = stage.runs()

    said = stage.passes(14, second)
    assert stops(said) == [(0, 1)]
    assert [kind for kind in kinds(said, hung) if kind != "BeginEpoch"] == ["Refuse"]
    assert starts(said) == []
    assert kinds(stage.says(hung, Heartbeat()), hung) == ["Refuse"]  # it wakes up, too late

    assert starts(stage.host_ends(0, error="cancelled")) == [(0, 2)]
    again = stage.comes(0, launch=2)
    assert kinds(stage.said, again) == ["Admit", "Deploy"]
    late = stage.comes(0, launch=1, attempt=9)
    assert "worker 0 was launched 2 times, and this is launch 1" in only(stage.said, late, Refuse).reason


def test_a_worker_that_hangs_again_is_ended_again() -> None:
    stage = Stage(workers=1, detection_s=3, restart_after_s=10)
    stage.runs()
    for launch in (1, 2, 3):
        assert stops(stage.passes(14)) == [(0, launch)]
        assert starts(stage.host_ends(0, launch=launch)) == [(0, launch + 1)]
        again = stage.comes(0, launch=launch + 1)
        stage.says(again, Ready(assignment=1))


def test_a_worker_that_hangs_before_the_beginning_is_started_anew_too() -> None:
    stage = Stage(workers=2, detection_s=3, restart_after_s=10, ready_timeout_s=100)
    hung, opening = stage.starts()
    stage.says(hung, Ready(assignment=1))

    assert stops(stage.passes(14, busy=[opening])) == [(0, 1)]
    assert starts(stage.host_ends(0)) == [(0, 2)]


def test_a_job_that_gave_up_is_started_anew() -> None:
    stage = Stage(workers=2)
    first, second = stage.runs()

    said = stage.host_ends(0, error="Job aborted: task failed 4 times")

    assert starts(said) == [(0, 2)]
    assert kinds(stage.says(first, Heartbeat()), first) == ["Refuse"]
    again = stage.comes(0, launch=2)
    assert only(stage.said, second, PeerChanged).peer.generation == 2
    assert kinds(stage.says(again, Ready(assignment=1)), again) == ["Begin"]


def test_a_worker_that_left_by_itself_is_waited_for() -> None:
    stage = Stage(workers=1, rejoin_timeout_s=30)
    (there,) = stage.runs()
    stage.says(there, Left(reason="the driver did not answer"))
    assert stage.status().workers[0].state == "awaited"

    stage.passes(29)
    assert stage.phase() is Phase.RUNNING
    again = stage.comes(0, attempt=1)
    assert kinds(stage.said, again) == ["Admit", "Deploy"]


def test_a_worker_that_does_not_come_back_fails_the_run() -> None:
    stage = Stage(workers=1, rejoin_timeout_s=30)
    (there,) = stage.runs()
    stage.says(there, Left(reason="SIGTERM"))

    stage.passes(30)

    assert type(stage.failed().error) is RunError
    assert "worker 0 was lost (it left: SIGTERM) and did not come back within 30 s" in str(stage.failed().error)


def test_a_worker_that_is_lost_again_and_again_fails_the_run() -> None:
    stage = Stage(workers=1, max_restarts=2)
    stage.runs()

    stage.comes(0, attempt=1)
    stage.comes(0, attempt=2)
    assert stage.phase() is Phase.RUNNING
    last = stage.comes(0, attempt=3)

    assert kinds(stage.said, last) == ["Refuse"]
    assert stops(stage.said) == [(0, 1)]
    assert "worker 0 was lost 3 times within 600 s (max_restarts=2)" in str(stage.failed().error)


def test_losses_long_ago_are_forgotten() -> None:
    stage = Stage(workers=1, max_restarts=2, restart_window_s=60)
    stage.runs()

    for attempt in range(1, 10):
        newest = stage.comes(0, attempt=attempt)
        stage.says(newest, Ready(assignment=1))
        stage.passes(40, newest)

    assert stage.phase() is Phase.RUNNING


def test_a_job_that_fails_at_once_is_not_started_for_ever() -> None:
    stage = Stage(workers=1, max_restarts=3)
    stage.runs()

    launch = 1
    while not stage.is_over():
        stage.host_ends(0, launch=launch, error="no such executor")
        launch += 1
        assert launch < 10

    assert "no such executor" in str(stage.failed().error)


def test_an_ended_worker_is_not_missed() -> None:
    stage = Stage(workers=2, detection_s=3, restart_after_s=10)
    first, second = stage.runs()
    stage.says(first, Ended(assignment=1))

    said = [*stage.passes(30, second), *stage.host_ends(0)]
    assert starts(said) == stops(said) == []
    late = stage.comes(0, attempt=1)
    assert "have ended" in only(stage.said, late, Refuse).reason

    newer = stage.comes(1, attempt=1)
    assert deploy(stage.said, newer).ended_tasks == (0, 2)
    stage.says(newer, Ready(assignment=1))
    stage.says(newer, Ended(assignment=1))
    stage.says(newer, Left())
    assert stage.finished().summary.status.error is None


def test_a_worker_that_comes_back_while_the_run_drains_is_drained_too() -> None:
    stage = Stage(workers=1)
    stage.runs()
    stage.says(b"visitor", AskDrain())

    newer = stage.comes(0, attempt=1)

    assert kinds(stage.says(newer, Ready(assignment=1)), newer) == ["Begin", "Drain"]


def test_a_connection_that_lost_messages_costs_the_worker_its_seat() -> None:
    stage = Stage(workers=2)
    first, _ = stage.runs()

    said = stage.happens(Severed(connection=first, reason="messages were lost on the way"))

    assert only(said, first, Refuse).reason.endswith("messages were lost on the way")
    assert stops(said) == [(0, 1)]
    assert starts(stage.host_ends(0)) == [(0, 2)]


def test_a_stranger_that_babbles_is_sent_away_and_noted() -> None:
    stage = Stage(workers=1)
    stage.runs()

    said = stage.happens(Severed(connection=b"stranger", reason="control protocol version wanted=1 got=2"))

    assert sent(said, b"stranger") == [Refuse(reason="control protocol version wanted=1 got=2")]
    assert "wanted=1 got=2" in stage.status().notices[-1]
    assert stage.phase() is Phase.RUNNING


def test_stopping_does_not_wait_for_one_who_cannot_hear() -> None:
    stage = Stage(workers=2, detection_s=3, restart_after_s=1000)
    deaf, second = stage.runs()
    stage.passes(5, second)

    said = stage.says(b"visitor", AskStop())
    assert stops(said) == [(0, 1)]
    stage.says(second, Left())

    assert stage.finished().summary.status.error is None
    assert kinds(said, deaf) == ["Refuse"]


def test_an_old_end_of_a_job_is_ignored() -> None:
    stage = Stage(workers=1, detection_s=3, restart_after_s=10)
    stage.runs()
    stage.passes(14)
    stage.host_ends(0, launch=1)

    assert starts(stage.host_ends(0, launch=1)) == []


def test_nobody_begins_while_one_who_was_ready_is_silent() -> None:
    stage = Stage(workers=2, detection_s=3)
    silent, second = stage.starts()
    stage.says(silent, Ready(assignment=1))
    stage.passes(5)

    stage.says(second, Ready(assignment=1))
    assert stage.phase() is Phase.DEPLOYING

    said = stage.says(silent, Heartbeat())
    assert kinds(said, silent) == ["Begin"]
    assert kinds(said, second) == ["PeerSilent", "Begin"]


def test_when_frames_to_a_worker_were_lost_both_sides_meet_again() -> None:
    stage = Stage(workers=3)
    first, second, third = stage.runs()
    said = stage.says(second, LinkBroken(lost_frames=12))
    assert [message.peer.worker for message in sent(said, first) if isinstance(message, PeerChanged)] == [1]
    assert [message.peer.worker for message in sent(said, third) if isinstance(message, PeerChanged)] == [1]
    assert [message.peer.worker for message in sent(said, second) if isinstance(message, PeerChanged)] == [0, 2]
    assert any("12 frames were lost" in notice for notice in stage.status().notices)


def test_the_ends_of_a_worker_that_is_gone_after_its_end_are_told_to_the_others() -> None:
    stage = Stage(workers=2)
    first, second = stage.runs()
    stage.says(first, Ended(assignment=1))
    said = stage.host_ends(0)
    tasks = deploy(stage.said, second).assignment.tasks_on(0)
    assert only(said, second, TasksEnded).tasks == tasks
    assert starts(said) == []
    assert stage.phase() is Phase.RUNNING
