"""Drivers that end in one way or another, and what is left of their runs."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.ring.patience import wait_until
from tests.spark.interruptible import interruptible
from tests.spark.scenarios import is_there
from tests.spark.topologies import words_of

ROOT = Path(__file__).parents[2]


@contextlib.contextmanager
def driver(what: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        interruptible([sys.executable, "-m", "tests.spark.lone_driver", what, str(folder)]),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={name: value for name, value in os.environ.items() if name != "PYSPARK_PYTHON"},
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def said(process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stdout is not None
    assert process.stderr is not None
    line = process.stdout.readline()
    assert line, process.stderr.read()
    told: dict[str, Any] = json.loads(line)
    return told


def descendants(pid: int) -> list[int]:
    """All processes below one: the JVM, the Python daemon, the workers."""
    found = []
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # who has just ended has no descendants
        for task in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a thread may end while others go on
                for child in (task / "children").read_text().split():
                    found += [int(child), *descendants(int(child))]
    return found


def await_end_of(processes: list[int]) -> None:
    wait_until(lambda: not any(is_there(pid) for pid in processes), "all processes of the driver are gone")


def test_without_a_session_a_run_has_one_of_its_own(tmp_path: Path) -> None:
    with driver("embedded", tmp_path) as process:
        told = said(process)
        bereft = said(process)
        workers = said(process)["pids"]
        _, errors = process.communicate()

    assert told == {"first": words_of(20), "second": words_of(20), "gone": [True, True]}
    # A run whose session is stopped fails, says so, and gives everything back.
    assert "no worker can be started any more" in bereft["error"]
    assert [name for name in bereft["threads"] if name.startswith("penstock")] == []
    # A script that ends stops its run, in good order.
    assert process.returncode == 0, errors
    assert {file.name for file in tmp_path.iterdir()} == {f"closed-{pid}" for pid in workers}
    # One line is the JVM's own, which nothing keeps from saying it.
    assert [line for line in errors.splitlines() if "Using incubator modules" not in line] == []


def test_a_forked_child_that_ends_leaves_the_run_to_its_parent(tmp_path: Path) -> None:
    with driver("forked", tmp_path) as process:
        assert said(process) == {"code": 3, "phase": "running", "restarts": 0, "left": []}
        _, errors = process.communicate()
    assert process.returncode == 0, errors


def test_a_run_whose_jvm_is_killed_fails_and_says_so(tmp_path: Path) -> None:
    with driver("crashed", tmp_path) as process:
        told = said(process)
        everything = descendants(process.pid)
        _, errors = process.communicate()
    assert "no worker can be started any more" in told["error"]
    assert told["phase"] == "failed"
    assert process.returncode == 0, errors
    await_end_of(everything)


def test_ctrl_c_stops_workers_in_good_order(tmp_path: Path) -> None:
    with driver("endless", tmp_path) as process:
        workers = said(process)["pids"]
        everything = descendants(process.pid)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()

    assert set(workers) < set(everything)
    assert "KeyboardInterrupt" in errors
    # They were asked to leave, not killed: both closed their tasks.
    assert {file.name for file in tmp_path.iterdir()} == {f"closed-{pid}" for pid in workers}
    await_end_of(everything)


def test_a_killed_driver_takes_its_workers_along(tmp_path: Path) -> None:
    with driver("endless", tmp_path) as process:
        workers = said(process)["pids"]
        everything = descendants(process.pid)
        process.kill()

    assert set(workers) < set(everything)
    await_end_of(everything)
