"""Running a contestant once: in a session of its own, with a folder for its notes, leaving nothing behind."""

import os
import signal
import subprocess
import time
from pathlib import Path

from bench.cpu import CpuMeter, session_members
from bench.wordcount.job import COUNTS_SUFFIX, START_FILE, Job

_REPOSITORY = Path(__file__).parents[2]
_LAST_CHARACTERS = 600
# How often the notes are looked for, which takes microseconds; and the processes, which takes a millisecond.
_NOTES_S = 0.005
_PROCESSES_S = 0.5


class RunnerError(Exception):
    """A contestant did not count, or did not count right."""


def run_job(python: Path, runner: str, job: Job, timeout_s: float) -> float | None:
    """Execute a runner, the name of a module, and whatever processes it starts, until it is done.

    Returns the CPU time of all of them from the first sentence to the last count, in seconds: what it takes to start
    and to stop is left out. None if it was all over too soon to be seen.
    """
    folder = Path(job.folder)
    file = folder / "job.json"
    job.save(file)
    log = folder / "log"
    # In a session of its own, by which everything that it starts can be found, whatever becomes of it.
    with (
        log.open("wb") as output,
        subprocess.Popen(
            [python, "-m", runner, file],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(_REPOSITORY)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process,
    ):
        watch = CpuWatch(folder, process.pid)
        deadline_s = time.monotonic() + timeout_s
        try:
            while not _has_ended(process):
                watch.look()
                if time.monotonic() > deadline_s:
                    process.wait(0)
        except subprocess.TimeoutExpired:
            message = f"{runner} was not done after {timeout_s:g} s; its last words:\n{_last_words(log)}"
            raise RunnerError(message) from None
        finally:
            end_session(process.pid)
    if process.returncode != 0:
        message = f"{runner} ended with {process.returncode}; its last words:\n{_last_words(log)}"
        raise RunnerError(message)
    return watch.taken_s


class CpuWatch:
    """Follows a session's CPU time from when its notes say that counting has begun until the last counter is done."""

    def __init__(self, folder: Path, leader: int) -> None:
        """Nothing has been noted yet."""
        self.taken_s: float | None = None
        """None until a counter was seen to be done."""
        self._folder = folder
        self._meter = CpuMeter(lambda: session_members(leader))
        self._started = False
        self._done = 0
        self._next_s = 0.0

    def look(self) -> None:
        """To be called every few milliseconds."""
        notes = [entry.name for entry in self._folder.iterdir()]
        if not self._started:
            if START_FILE in notes:
                self._started = True
                self._meter.start()
            return
        done = sum(name.endswith(COUNTS_SUFFIX) for name in notes)
        now_s = time.monotonic()
        if done > self._done:
            self._meter.look()
            self.taken_s, self._done = self._meter.taken_s, done
        elif now_s >= self._next_s:  # for the sake of processes that end before the counters are done
            self._meter.look()
            self._next_s = now_s + _PROCESSES_S


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(_NOTES_S)
    except subprocess.TimeoutExpired:
        return False
    return True


def end_session(leader: int) -> None:
    """Kill every process of the session whose first process is, or was, `leader`."""
    while members := session_members(leader):
        for pid in members:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:  # it ended by itself just now
                continue


def _last_words(log: Path) -> str:
    return log.read_text(errors="replace")[-_LAST_CHARACTERS:].strip()
