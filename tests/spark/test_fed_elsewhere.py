"""Streaming DataFrames that feed a topology on several nodes, over Connect, and from drivers that are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ring.patience import wait_until
from tests.spark import feed_driver
from tests.spark.arrivals import Arrivals, numbers_in
from tests.spark.remote_driver import RemoteDriver


def test_rows_come_from_other_nodes_and_a_worker_may_die(cluster: RemoteDriver, tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    found, count = cluster(feed_driver.fed, folder=tmp_path, workers=3, kills=True)
    assert found == list(range(count))


@pytest.mark.box
def test_a_driver_that_is_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    arrivals = Arrivals(tmp_path / "in")
    command = [sys.executable, "-m", "tests.spark.feed_driver", str(tmp_path)]
    arrivals.more(20)
    with subprocess.Popen(command, start_new_session=True) as driver:
        wait_until(lambda: driver.poll() is not None or numbers_in(tmp_path), "rows have come", patience_s=120)
        assert driver.poll() is None
        arrivals.more(5)  # the others may all have been read
        os.killpg(driver.pid, signal.SIGKILL)  # with its JVM
    left = arrivals.count - len(numbers_in(tmp_path))
    subprocess.run([*command, "end"], check=True, timeout=300)

    assert left > 0, "killed in the middle"
    assert numbers_in(tmp_path) == list(range(arrivals.count))
