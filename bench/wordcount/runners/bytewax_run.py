"""Bytewax: one worker, or several processes that exchange words over TCP.

What makes it fast: sentences are emitted in batches (of what is due, or of `batch_size`), split with `flat_map_batch`,
and counted with `stateful_batch`, which calls Python once per key and batch. Each process reads a part of the stream
of its own, as it would read partitions.
"""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import bytewax.operators as op
from bytewax.dataflow import Dataflow
from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from bytewax.outputs import DynamicSink, StatelessSinkPartition
from bytewax.testing import cluster_main

from bench.wordcount.corpus import read_corpus, sentence_stream
from bench.wordcount.job import CounterNotes, Job

_HEAD_START_NS = 500_000_000  # for all processes to be connected when the first sentence is due

Sentence = tuple[int, str]
Count = tuple[list[int], bool]

_NOTHING: Count = ([], False)


def main() -> None:
    """The process that the benchmark starts is the first of `processes`, and starts the others."""
    job = Job.from_command_line()
    processes = job.options["processes"]
    if len(sys.argv) > 2:
        index, addresses, started_ns = int(sys.argv[2]), sys.argv[3].split(","), int(sys.argv[4])
    else:
        index, addresses, started_ns = 0, _free_addresses(processes), time.monotonic_ns() + _HEAD_START_NS
        if job.rate_per_s:
            job.note_start(started_ns)
    others = []
    if index == 0:
        command = [sys.executable, "-m", __spec__.name, sys.argv[1]]
        others = [
            subprocess.Popen([*command, str(other), ",".join(addresses), str(started_ns)])
            for other in range(1, processes)
        ]
    notes = CounterNotes(job, f"counter-{index}")
    totals = Totals()
    cluster_main(_flow(job, processes, started_ns, notes, totals), addresses if processes > 1 else [], index)
    notes.save(totals.counts, totals.finished_ns)
    for process in others:
        if process.wait() != 0:
            sys.exit(process.returncode)


def _flow(job: Job, processes: int, started_ns: int, notes: CounterNotes, totals: "Totals") -> Dataflow:
    paced = bool(job.rate_per_s)
    flow = Dataflow("wordcount")
    sentences = op.input("sentences", flow, Sentences(job, processes, started_ns))
    words = op.flat_map_batch("split", sentences, _split_numbered if paced else _split)
    count: Any = TimedCount if paced else CountOfWord
    counted = op.stateful_batch("count", words, lambda _: count(notes.times))
    op.output("totals", counted, totals)
    return flow


def _split(batch: list[Sentence]) -> list[tuple[str, None]]:
    return [(word, None) for _, line in batch for word in line.split()]


def _split_numbered(batch: list[Sentence]) -> list[tuple[str, int]]:
    return [(word, sentence) for sentence, line in batch for word in line.split()]


class CountOfWord(op.StatefulBatchLogic):  # type: ignore[misc]
    """How often one word came; emitted at the end."""

    __slots__ = ("count",)

    def __init__(self, _: object) -> None:
        self.count = 0

    def on_batch(self, values: list[Any]) -> Count:
        self.count += len(values)
        return _NOTHING

    def on_eof(self) -> Count:
        return [self.count], True

    def snapshot(self) -> int:
        return self.count


class TimedCount(CountOfWord):
    """Notes besides when each sentence's words were counted."""

    __slots__ = ("times",)

    def __init__(self, times: Any) -> None:
        self.count = 0
        self.times = times

    def on_batch(self, values: list[int]) -> Count:
        self.count += len(values)
        now_ns = time.monotonic_ns()
        for sentence in values:
            self.times[sentence] = now_ns
        return _NOTHING


class Sentences(FixedPartitionedSource):  # type: ignore[misc]
    """A part of the stream for each process: every n-th sentence."""

    def __init__(self, job: Job, parts: int, started_ns: int) -> None:
        self.job = job
        self.parts = parts
        self.started_ns = started_ns

    def list_parts(self) -> list[str]:
        return [str(part) for part in range(self.parts)]

    def build_part(self, step_id: str, for_part: str, resume_state: None) -> "Part":  # noqa: ARG002
        numbered = enumerate(sentence_stream(read_corpus(Path(self.job.corpus)), self.job.sentences))
        mine = islice(numbered, int(for_part), None, self.parts)
        if self.job.rate_per_s:
            return PacedPart(self.job, list(mine), self.started_ns)
        return FloodPart(self.job, mine, first=for_part == "0")


class Part(StatefulSourcePartition):  # type: ignore[misc]
    """One part."""

    def snapshot(self) -> None:
        return None


class FloodPart(Part):
    """As fast as they go, in batches."""

    def __init__(self, job: Job, sentences: Iterator[Sentence], *, first: bool) -> None:
        self.job = job
        self.sentences = sentences
        self.unnoted = first

    def next_batch(self) -> list[Sentence]:
        if self.unnoted:
            self.job.note_start(time.monotonic_ns())
            self.unnoted = False
        batch = list(islice(self.sentences, self.job.options["batch_size"]))
        if not batch:
            raise StopIteration
        return batch


class PacedPart(Part):
    """Whatever is due."""

    def __init__(self, job: Job, sentences: list[Sentence], started_ns: int) -> None:
        self.job = job
        self.sentences = sentences
        self.started_ns = started_ns
        self.position = 0

    def next_batch(self) -> list[Sentence]:
        if self.position == len(self.sentences):
            raise StopIteration
        due = self.job.due_count(self.started_ns, time.monotonic_ns())
        begin = self.position
        while self.position < len(self.sentences) and self.sentences[self.position][0] < due:
            self.position += 1
        return self.sentences[begin : self.position]

    def next_awake(self) -> datetime | None:
        if self.position == len(self.sentences):
            return None
        wait_ns = self.job.due_ns(self.started_ns, self.sentences[self.position][0]) - time.monotonic_ns()
        return datetime.now(UTC) + timedelta(microseconds=max(0, wait_ns) / 1000)


class Totals(DynamicSink):  # type: ignore[misc]
    """Takes the counts, which come when all is counted."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.finished_ns = 0

    def build(self, step_id: str, worker_index: int, worker_count: int) -> "TotalsPart":  # noqa: ARG002
        return TotalsPart(self)


class TotalsPart(StatelessSinkPartition):  # type: ignore[misc]
    """The part of one worker."""

    def __init__(self, totals: Totals) -> None:
        self.totals = totals

    def write_batch(self, items: list[tuple[str, int]]) -> None:
        self.totals.finished_ns = time.monotonic_ns()
        self.totals.counts.update(items)


def _free_addresses(count: int) -> list[str]:
    """Ports that are free now; Bytewax wants to be told, and binds them a moment later."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    addresses = [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]
    for each in sockets:
        each.close()
    return addresses


if __name__ == "__main__":
    main()
