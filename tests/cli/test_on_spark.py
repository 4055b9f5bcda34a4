"""A real `penstock run` on an embedded Spark, and the other commands beside it, each in a process of its own."""

from __future__ import annotations

import contextlib
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from penstock.control.registry import RunDirectory
from tests.cli.files import write
from tests.ring.patience import wait_until
from tests.spark.scenarios import is_there

# A driver of its own takes many seconds to start on a machine that is busy.
pytestmark = pytest.mark.cluster
START_S = 300.0

# Leaves a note in a folder when a worker closes it in good order.
ENDLESS = """
    from pathlib import Path
    import os
    import penstock as ps

    class Pass(ps.Bolt):
        fields = ("seq",)

        def __init__(self, notes):
            self.notes = notes

        def process(self, tup):
            return (tup.seq,)

        def close(self):
            Path(self.notes, f"closed-{os.getpid()}").touch()

    def topology(notes: str, per_second: float = 500.0):
        topo = ps.Topology("endless")
        numbers = topo.spout("numbers", ps.Rate(per_second))
        passed = topo.bolt("pass", Pass(notes), numbers.shuffle(), tasks=2)
        topo.bolt("last", ps.Collect(), passed.shuffle())
        return topo
"""

TERMINAL = {"TERM": "xterm", "COLUMNS": "80", "LINES": "40"}
PENSTOCK = [sys.executable, "-c", "from penstock.cli.main import main; main()"]


def penstock(*arguments: str) -> str:
    """What a command says that ends well."""
    done = subprocess.run([*PENSTOCK, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def processed() -> float:
    """How many tuples have come through, as `penstock metrics` tells."""
    families = {family.name: family for family in text_string_to_metric_families(penstock("metrics", "endless"))}
    samples = families["penstock_task_processed_tuples"].samples
    return sum(sample.value for sample in samples if sample.labels["component"] == "last")


@contextlib.contextmanager
def running(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """An endless run, when tuples flow, and the folder of its notes."""
    notes = tmp_path / "notes"
    notes.mkdir()
    file = write(tmp_path, "endless_topology.py", ENDLESS)
    arguments = ["run", file, "--workers", "2", "--set", f"notes={notes}", "--set", "per_second=1000"]
    with (
        (tmp_path / "out").open("w") as out,
        (tmp_path / "err").open("w") as err,
        subprocess.Popen([*PENSTOCK, *arguments], cwd=tmp_path, stdout=out, stderr=err, text=True) as process,
    ):
        try:
            # Looked for in here: commands would take the cores from the Spark that starts.
            wait_until(lambda: is_published(process, tmp_path), "the run has begun to start", patience_s=START_S)
            wait_until(lambda: "running" in penstock("list"), "the run is listed as running", patience_s=START_S)
            wait_until(processed, "tuples flow", patience_s=START_S)
            yield process, notes
        finally:
            process.kill()


class Screen:
    """The far end of a terminal, and everything that was written to it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.text = ""

    def goes_on(self) -> bool:
        """Takes what comes next; False when the other end was closed."""
        try:
            self.text += os.read(self._descriptor, 65_536).decode(errors="replace")
        except OSError:  # EIO: how a terminal ends
            return False
        return True


@contextlib.contextmanager
def watching() -> Iterator[tuple[subprocess.Popen[bytes], Screen]]:
    """`penstock top` on a terminal."""
    ours, theirs = pty.openpty()
    try:
        command = [*PENSTOCK, "top", "endless"]
        try:
            watcher = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=os.environ | TERMINAL)
        finally:
            os.close(theirs)
        with watcher:
            try:
                yield watcher, Screen(ours)
            finally:
                watcher.kill()
    finally:
        os.close(ours)


def is_published(process: subprocess.Popen[str], tmp_path: Path) -> bool:
    assert process.poll() is None, (tmp_path / "err").read_text()
    time.sleep(0.05)
    return bool(RunDirectory.default().runs())


def errors(tmp_path: Path) -> list[str]:
    """What the run complained of. One line is the JVM's own, which nothing keeps from saying it."""
    lines = (tmp_path / "err").read_text().splitlines()
    return [line for line in lines if "Using incubator modules" not in line]


def descendants(pid: int) -> list[int]:
    found = []
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # who has just ended has no descendants
        for task in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a thread may end while others go on
                for child in (task / "children").read_text().split():
                    found += [int(child), *descendants(int(child))]
    return found


def test_a_run_is_asked_watched_and_drained_from_elsewhere(tmp_path: Path) -> None:
    with running(tmp_path) as (process, notes):
        assert "endless  running" in penstock("status")
        with watching() as (watcher, screen):
            while "busy" not in screen.text:
                assert screen.goes_on(), screen.text
            assert "(endless) was told to drain" in penstock("drain")
            while screen.goes_on():
                pass
            assert watcher.wait() == 0
        code = process.wait()

    assert screen.text.rstrip().endswith("(endless) is over")
    assert code == 0
    assert errors(tmp_path) == []
    out = (tmp_path / "out").read_text()
    assert "endless  ended" in out
    assert "last collected" in out
    assert out.splitlines()[-1].startswith("endless ended after ")
    assert "lost" not in out  # drained: all that was emitted has come through
    assert len(list(notes.iterdir())) == 2
    assert penstock("list") == "no runs\n"


def test_ctrl_c_ends_a_run_cleanly(tmp_path: Path) -> None:
    with running(tmp_path) as (process, notes):
        everything = descendants(process.pid)
        os.kill(process.pid, signal.SIGINT)
        code = process.wait()

    assert code == 130
    assert errors(tmp_path) == []
    out = (tmp_path / "out").read_text()
    assert "stopping …" in out
    assert out.splitlines()[-1].startswith("endless ended after ")
    # They were asked to leave, not killed: both closed their tasks.
    assert len(list(notes.iterdir())) == 2
    assert penstock("list") == "no runs\n"
    wait_until(lambda: not any(is_there(pid) for pid in everything), "all processes of the run are gone")


HALF_WAY = """
    import penstock as ps

    def numbers():
        yield from ((n,) for n in range(10))
        raise OSError("half way")

    topo = ps.Topology("half-way")
    topo.bolt("last", ps.Collect(), topo.spout("numbers", numbers, fields=("n",)).shuffle())
"""


def test_the_exit_code_tells_that_a_generator_has_raised(tmp_path: Path) -> None:
    file = write(tmp_path, "half_way_topology.py", HALF_WAY)
    done = subprocess.run([*PENSTOCK, "run", file, "--workers", "1"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "RunError" in done.stderr
    assert "spout 'numbers' (task 0) raised OSError: half way" in done.stderr
