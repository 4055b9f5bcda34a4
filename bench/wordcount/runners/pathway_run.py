"""Pathway: sentences from a Python connector, split by Python, counted by its engine in Rust.

The engine works through one commit after another, each of them whole: once the end of a commit has been reported, all
words of its sentences are counted. All sentences have the same number of words and come in order, so the words counted
so far tell which sentences are done.

`pathway spawn` starts this script once per process; sentences come from the first, and results go back to it.
"""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pathway as pw

from bench.wordcount.corpus import WORDS_PER_SENTENCE, read_corpus, sentence_stream
from bench.wordcount.job import CounterNotes, Job

_HEAD_START_NS = 500_000_000
_BACKLOG = 10_000  # sentences; without a limit the source runs ahead and fills memory


class Line(pw.Schema):  # type: ignore[misc]
    """A sentence."""

    line: str


def main() -> None:
    """Start `processes` processes of this script; with one, just run."""
    job = Job.from_command_line()
    spawned = "PATHWAY_PROCESS_ID" in os.environ
    if job.options["processes"] > 1 and not spawned:
        processes = str(job.options["processes"])
        command = [sys.executable, "-m", "pathway", "spawn", "--processes", processes, "--first-port", _first_port()]
        sys.exit(subprocess.run([*command, sys.executable, "-m", __spec__.name, sys.argv[1]], check=False).returncode)
    _run(job)


def _run(job: Job) -> None:
    notes = CounterNotes(job, "counter")
    counts: dict[str, int] = {}
    counted = done = finished_ns = 0

    def on_change(key: Any, row: dict[str, Any], time: int, is_addition: bool) -> None:  # noqa: ARG001
        nonlocal counted
        if is_addition:
            counts[row["word"]] = row["count"]
            counted += row["count"]
        else:
            counted -= row["count"]

    def on_time_end(_: int) -> None:
        nonlocal done, finished_ns
        finished_ns = time.monotonic_ns()
        if job.rate_per_s:
            for sentence in range(done, counted // WORDS_PER_SENTENCE):
                notes.times[sentence] = finished_ns
            done = counted // WORDS_PER_SENTENCE

    lines = pw.io.python.read(
        Sentences(job), schema=Line, autocommit_duration_ms=job.options["commit_ms"], max_backlog_size=_BACKLOG
    )
    words = lines.select(word=pw.apply_with_type(str.split, list[str], pw.this.line)).flatten(pw.this.word)
    per_word = words.groupby(pw.this.word).reduce(pw.this.word, count=pw.reducers.count())
    pw.io.subscribe(per_word, on_change=on_change, on_time_end=on_time_end)
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    if counts:
        notes.save(counts, finished_ns)


class Sentences(pw.io.python.ConnectorSubject):  # type: ignore[misc]
    """Sends what is due, or all there is."""

    deletions_enabled = False

    def __init__(self, job: Job) -> None:
        super().__init__()
        self.job = job

    def run(self) -> None:
        sentences = sentence_stream(read_corpus(Path(self.job.corpus)), self.job.sentences)
        if self.job.rate_per_s:
            self.pace(list(sentences))
        else:
            self.job.note_start(time.monotonic_ns())
            for line in sentences:
                self.next(line=line)

    def pace(self, sentences: list[str]) -> None:
        job = self.job
        started_ns = time.monotonic_ns() + _HEAD_START_NS
        job.note_start(started_ns)
        sent = 0
        while sent < job.sentences:
            now_ns = time.monotonic_ns()
            due = job.due_count(started_ns, now_ns)
            if sent == due:
                time.sleep((job.due_ns(started_ns, sent) - now_ns) / 1e9)
                continue
            while sent < due:
                self.next(line=sentences[sent])
                sent += 1
            self.commit()


def _first_port() -> str:
    """A port that is free now; Pathway wants to be told, and binds it and the next ones a moment later."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return str(server.getsockname()[1])


if __name__ == "__main__":
    main()
