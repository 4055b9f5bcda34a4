"""Runners in processes: what they leave behind is read, and nothing else of them remains."""

import os
import sys
import time
from pathlib import Path

import pytest

from bench.wordcount.corpus import write_corpus
from bench.wordcount.job import Job
from bench.wordcount.notes import read_flood
from bench.wordcount.runner import CpuWatch, RunnerError, run_job

STUB = "tests.bench.wordcount_stub"
PATIENCE_S = 60.0


def job_of(tmp_path: Path, manner: str) -> Job:
    corpus = tmp_path / "corpus.txt"
    write_corpus(corpus, sentences=20)
    folder = tmp_path / "notes"
    folder.mkdir()
    return Job(corpus=str(corpus), sentences=50, rate_per_s=0, folder=str(folder), options={"manner": manner})


def run(job: Job, timeout_s: float = PATIENCE_S) -> None:
    run_job(Path(sys.executable), STUB, job, timeout_s)


def is_running(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def test_a_runner_that_counts_right(tmp_path: Path) -> None:
    job = job_of(tmp_path, "right")
    run(job)
    assert read_flood(job).elapsed_s > 0


def test_a_runner_that_fails_is_quoted(tmp_path: Path) -> None:
    with pytest.raises(RunnerError, match=r"wordcount_stub ended with 1; its last words:\nit cannot be done"):
        run(job_of(tmp_path, "dying"))


def test_a_child_that_outlives_its_runner_is_ended(tmp_path: Path) -> None:
    job = job_of(tmp_path, "abandoning")
    run(job)
    assert not is_running(int(Path(job.folder, "child").read_text()))


def test_a_runner_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    job = job_of(tmp_path, "hanging")
    child = Path(job.folder, "child")
    for timeout_s in (5.0, 20.0, PATIENCE_S):  # on a busy machine it may not even have started after the first
        with pytest.raises(RunnerError, match=f"was not done after {timeout_s:g} s"):
            run(job, timeout_s=timeout_s)
        if child.exists():
            break
    assert not is_running(int(child.read_text()))


def test_cpu_time_is_of_all_processes_from_the_first_sentence_to_the_last_count(tmp_path: Path) -> None:
    watch = CpuWatch(tmp_path, os.getsid(0))
    watch.look()
    Path(tmp_path, "started").touch()
    watch.look()
    burn(0.2)
    taken_s = [looked(watch)]
    for name in ("one", "two"):
        Path(tmp_path, f"{name}.counts").touch()
        taken_s.append(looked(watch))
        burn(0.2)
        taken_s.append(looked(watch))
    assert taken_s[0] is None  # nobody is done
    assert taken_s[1] is not None
    assert taken_s[1] >= 0.2
    assert taken_s[2] == taken_s[1]  # what comes after the last count is left out
    assert taken_s[3] is not None
    assert taken_s[3] >= taken_s[1] + 0.2


def test_a_runner_that_takes_long_enough_has_a_cpu_time(tmp_path: Path) -> None:
    tries = []
    for number in range(3):  # on a busy machine nobody may have looked while it was burning
        (tmp_path / str(number)).mkdir()
        tries.append(run_job(Path(sys.executable), STUB, job_of(tmp_path / str(number), "burning"), PATIENCE_S))
        if tries[-1] is not None:
            break
    assert tries[-1] is not None
    assert tries[-1] > 0


def looked(watch: CpuWatch) -> float | None:
    watch.look()
    return watch.taken_s


def burn(seconds: float) -> None:
    until_s = time.process_time() + seconds
    while time.process_time() < until_s:
        pass
