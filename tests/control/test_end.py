"""Ending: by itself, by drain, by stop, by force."""

from typing import Any

import pytest

from penstock.control.protocol import AskDrain, AskStop, Collected, Done, Ended, Fatal, Left, NotNow, Ready
from penstock.control.status import Phase
from penstock.errors import RunError
from tests.control.stage import Stage, kinds, sent, stops


def test_a_bounded_run_finishes_when_all_have_ended_and_left() -> None:
    stage = Stage(workers=2)
    first, second = stage.runs()

    stage.says(first, Ended(assignment=1))
    assert stage.phase() is Phase.RUNNING
    said = stage.says(second, Ended(assignment=1))
    assert kinds(said, first) == kinds(said, second) == ["Stop"]
    assert not stage.is_over()

    stage.says(first, Left())
    stage.says(second, Left())
    assert stage.finished().summary.status.phase is Phase.ENDED
    assert stops(stage.said) == []


def test_drain_lets_spouts_end_and_waits_for_the_rest() -> None:
    stage = Stage(workers=2)
    connections = stage.runs()

    said = stage.says(b"visitor", AskDrain())
    assert sent(said, b"visitor") == [Done()]
    assert [kinds(said, connection) for connection in connections] == [["Drain"], ["Drain"]]
    assert kinds(stage.says(b"visitor", AskDrain()), connections[0]) == []

    stage.all_end(connections)
    stage.all_leave(connections)
    assert stage.finished().summary.status.error is None


def test_stop_does_not_wait_for_what_is_under_way() -> None:
    stage = Stage(workers=2)
    connections = stage.runs()

    said = stage.says(b"visitor", AskStop())
    assert [kinds(said, connection) for connection in connections] == [["Stop"], ["Stop"]]

    stage.all_leave(connections)
    assert stage.finished().summary.status.error is None


def test_whoever_does_not_leave_is_ended_by_force() -> None:
    stage = Stage(workers=2, stop_timeout_s=5)
    first, second = stage.runs()
    stage.says(b"visitor", AskStop())
    stage.says(first, Left())

    said = stage.passes(5, second)

    assert stops(said) == [(1, 1)]
    assert "worker 1 on host-1 (pid 1001, generation 1) did not leave" in stage.finished().summary.status.notices[-1]


def test_a_job_that_ended_counts_as_having_left() -> None:
    stage = Stage(workers=1)
    (there,) = stage.runs()
    stage.says(there, Ended(assignment=1))

    stage.host_ends(0)

    assert stage.finished().summary.status.error is None


def test_a_fatal_error_ends_the_run_for_all() -> None:
    stage = Stage(workers=2)
    first, second = stage.runs()

    said = stage.says(first, Fatal(traceback="Traceback: boom"))
    assert kinds(said, second) == ["Stop"]
    stage.all_leave([first, second])

    assert "worker 0 on host-0 (pid 1000, generation 1) cannot go on:\nTraceback: boom" in str(stage.failed().error)
    assert stage.failed().summary.status.error == str(stage.failed().error)


def test_what_goes_wrong_while_a_run_ends_is_only_noted() -> None:
    stage = Stage(workers=2)
    first, second = stage.runs()
    stage.says(b"visitor", AskStop())

    stage.says(first, Fatal(traceback="Traceback: close() failed"))
    stage.all_leave([first, second])

    assert any("close() failed" in notice for notice in stage.finished().summary.status.notices)


@pytest.mark.parametrize("question", [AskStop(), AskDrain()])
def test_what_is_over_cannot_be_ended_again(question: AskStop | AskDrain) -> None:
    stage = Stage(workers=1)
    connections = stage.runs()
    stage.all_end(connections)
    stage.all_leave(connections)

    (answer,) = sent(stage.says(b"visitor", question), b"visitor")

    assert answer == NotNow(reason="run 'run-1' has ended already")


def test_whoever_comes_when_it_is_over_is_sent_away() -> None:
    stage = Stage(workers=2)
    connections = stage.runs()
    stage.says(b"visitor", AskStop())

    late = stage.comes(0, attempt=5)

    assert kinds(stage.said, late) == ["Refuse"]
    assert [worker.generation for worker in stage.status().workers] == [1, 1]
    assert "silent" not in {worker.state for worker in stage.status().workers}
    stage.says(connections[1], Left())
    assert not stage.is_over()
    stage.says(connections[0], Left())
    assert stage.finished().summary.status.restarts == 0


def test_collected_rows_are_kept_in_order_of_arrival() -> None:
    stage = Stage(workers=2)
    first, second = connections = stage.runs()
    stage.says(first, Collected(task=0, component="totals", count=2, rows=b"\x92\x01\x02"))
    stage.says(second, Collected(task=0, component="totals", count=1, rows=b"\x91\x03"))
    stage.says(first, Collected(task=0, component="others", count=1, rows=b"\x91\x04"))
    stage.all_end(connections)
    stage.all_leave(connections)

    assert stage.finished().summary.collected == {"totals": (b"\x92\x01\x02", b"\x91\x03"), "others": (b"\x91\x04",)}


@pytest.mark.parametrize("limits", [{"max_collected_rows": 3}, {"max_collected_bytes": 5}])
def test_more_rows_than_the_driver_may_hold_fail_the_run(limits: dict[str, Any]) -> None:
    stage = Stage(workers=1, **limits)
    (there,) = stage.runs()
    stage.says(there, Collected(task=0, component="totals", count=2, rows=b"abc"))
    assert stage.phase() is Phase.RUNNING

    stage.says(there, Collected(task=0, component="totals", count=2, rows=b"abc"))
    stage.says(there, Left())

    assert type(stage.failed().error) is RunError
    assert "sink 'totals' collects more than the driver may hold: 4 rows in 6 bytes" in str(stage.failed().error)
    assert stage.failed().summary.collected == {"totals": (b"abc",)}


def test_ending_before_beginning_does_not_count() -> None:
    stage = Stage(workers=2)
    first, second = stage.starts()

    stage.says(first, Ended(assignment=1))
    stage.says(first, Ready(assignment=1))
    stage.says(second, Ready(assignment=1))

    assert stage.phase() is Phase.RUNNING
    assert {worker.state for worker in stage.status().workers} == {"begun"}
