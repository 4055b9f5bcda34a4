"""Commands that move tasks of a run which another process drives."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from penstock.control.moving import Abandon, Moved, NotPrepared, Prepare, Prepared, Switch
from tests.cli.conftest import Penstock
from tests.cli.published import published, working
from tests.control.troupe import Played


@contextmanager
def obeying(played: Played, *, able: bool = True) -> Iterator[None]:
    """The worker prepares and takes over what it is told, beside the test."""

    def obey() -> None:
        prepare = played.hears(Prepare)
        number = prepare.assignment.number
        if not able:
            played.client.send(NotPrepared(assignment=number, reason="no space left"))
            played.hears(Abandon)
            return
        played.client.send(Prepared(assignment=number))
        played.hears(Switch)
        for task in prepare.tasks:
            played.client.send(Moved(assignment=number, task=task.id))

    thread = threading.Thread(target=obey)
    thread.start()
    yield
    thread.join()


def test_scale_tells_what_became_of_it(penstock: Penstock) -> None:
    with published() as run, working(run) as played, obeying(played):
        code, out, err = penstock("scale", "count", "--tasks", "2")
    assert (code, err) == (0, "")
    *moved, done = out.splitlines()
    assert moved == ["task 3 on worker 0 is no more", "count[0] is new on worker 0", "count[1] is new on worker 0"]
    assert done.startswith("done in ")


def test_what_cannot_be_prepared_is_an_error(penstock: Penstock) -> None:
    with published() as run, working(run) as played, obeying(played, able=False):
        code, _, err = penstock("scale", "count", "--tasks", "2")
    assert code == 1
    assert err.startswith("RunError: asked for 2 tasks of 'count', and that was abandoned: worker 0 on host-0")
    assert err.endswith("cannot prepare: no space left\n")


def test_move_names_what_cannot_be(penstock: Penstock) -> None:
    with published() as run, working(run):
        assert penstock("move", "count[0]", "1") == (
            1,
            "",
            "RunError: count[0] cannot move to worker 1: this run has no such worker\n",
        )
        assert penstock("move", "count[0]", "0") == (0, "nothing had to move\n", "")
        assert penstock("rebalance") == (0, "nothing had to move\n", "")
