"""Real worker processes whose tasks have ended, and that are gone when others begin anew."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from penstock.topology.topology import Topology
from tests.control.processes import processes
from tests.endless import End, Numbers, NumbersUntilTold
from tests.ring.patience import wait_until


@pytest.mark.parametrize("delivery", ["at_most_once", "at_least_once"])
def test_a_worker_that_begins_anew_does_not_wait_for_one_that_has_ended_and_is_gone(
    tmp_path: Path, delivery: str
) -> None:
    end = End(tmp_path)
    topo = Topology("ended")
    numbers = topo.spout("numbers", Numbers(300))
    topo.spout("none", lambda: iter(()), fields=("n",))
    topo.spout("others", NumbersUntilTold(end))  # keeps the first worker at work
    topo.bolt("last", lambda tup: (tup.n,), numbers.shuffle(), fields=("n",))
    with processes(topo, workers=2, delivery=delivery) as run:
        wait_until(lambda: run.status().workers[1].state == "ended", "the second worker has ended")
        assert (run.place("numbers[0]"), run.place("last[0]")) == (0, 1)
        os.kill(run.pid(1), signal.SIGKILL)
        wait_until(lambda: run.status().workers[1].state == "left", "it is gone")
        os.kill(run.pid(0), signal.SIGKILL)
        wait_until(lambda: run.status().workers[0].generation == 2, "another one is in the first one's place")
        end.tell()
        run.summary()
