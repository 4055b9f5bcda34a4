"""Running a contestant once: in a process of its own, with a folder for its notes, leaving nothing behind."""

import os
import signal
import subprocess
from pathlib import Path

from bench.wordcount.job import Job

_REPOSITORY = Path(__file__).parents[2]
_LAST_CHARACTERS = 600


class RunnerError(Exception):
    """A contestant did not count, or did not count right."""


def run_job(python: Path, runner: str, job: Job, timeout_s: float) -> None:
    """Execute a runner, the name of a module, and whatever processes it starts, until it is done."""
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
        try:
            process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            message = f"{runner} was not done after {timeout_s:g} s; its last words:\n{_last_words(log)}"
            raise RunnerError(message) from None
        finally:
            end_session(process.pid)
    if process.returncode != 0:
        message = f"{runner} ended with {process.returncode}; its last words:\n{_last_words(log)}"
        raise RunnerError(message)


def end_session(leader: int) -> None:
    """Kill every process of the session whose first process is, or was, `leader`."""
    while members := _session_members(leader):
        for pid in members:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:  # it ended by itself just now
                continue


def _session_members(leader: int) -> list[int]:
    return [
        int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal() and _is_member(entry, leader)
    ]


def _is_member(entry: Path, leader: int) -> bool:
    try:
        stat = (entry / "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):  # it ended while we were looking
        return False
    # The command stands in parentheses and may hold anything; after it come state, parent, group and session.
    state, _, _, session, *_ = stat.rpartition(")")[2].split()
    return int(session) == leader and state != "Z"


def _last_words(log: Path) -> str:
    return log.read_text(errors="replace")[-_LAST_CHARACTERS:].strip()
