"""Penstock: a spout, a bolt that splits and a bolt that counts, a worker each; with record bolts or with batch bolts.

At a rate, sentences and words carry the number of the sentence, so that the counter can note when it was done.
"""

import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

import penstock as ps
from bench.wordcount.corpus import read_corpus, sentence_stream
from bench.wordcount.job import CounterNotes, Job

_EMITTED_AT_ONCE = 256
_MERGED_FROM_ROWS = 50_000


def main() -> None:
    """Run one job."""
    job = Job.from_command_line()
    # As the peers: none of them follows every record. What guarantees cost is measured by `bench recovery`.
    ps.run(topology_of(job), workers=job.options["workers"], delivery="at_most_once")


def topology_of(job: Job) -> ps.Topology:
    """The word count of one job."""
    paced = bool(job.rate_per_s)
    spout = (PacedSentences if paced else Sentences)(job)
    split: ps.Bolt | ps.BatchBolt = (NumberedSplit if paced else Split)()
    count: ps.KeyedBolt | ps.BatchBolt = (TimedCount if paced else Count)(job)
    if job.options["bolts"] == "batch":
        split = (NumberedSplitBatches if paced else SplitBatches)()
        count = (TimedCountBatches if paced else CountBatches)(job)
    topology = ps.Topology("wordcount")
    sentences = topology.spout("sentences", spout)
    words = topology.bolt("split", split, sentences.shuffle())
    topology.bolt("count", count, words.by("word"))
    return topology


class Sentences(ps.Spout):
    """All sentences, as fast as they go."""

    fields: tuple[str, ...] = ("line",)

    def __init__(self, job: Job) -> None:
        self.job = job

    def open(self, context: ps.TaskContext) -> None:  # noqa: ARG002
        self.sentences = ((line,) for line in sentence_stream(read_corpus(Path(self.job.corpus)), self.job.sentences))
        self.started = False

    def next(self) -> list[tuple[str]]:
        if not self.started:
            self.started = True
            self.job.note_start(time.monotonic_ns())
        batch = list(islice(self.sentences, _EMITTED_AT_ONCE))
        if not batch:
            raise StopIteration
        return batch


class PacedSentences(ps.Spout):
    """Whatever is due; on its way before the next is waited for."""

    fields = ("sentence", "line")

    def __init__(self, job: Job) -> None:
        self.job = job

    def open(self, context: ps.TaskContext) -> None:  # noqa: ARG002
        self.sentences = list(enumerate(sentence_stream(read_corpus(Path(self.job.corpus)), self.job.sentences)))
        self.emitted = self.started_ns = 0
        self.just_emitted = False

    def next(self) -> list[tuple[int, str]] | None:
        job, emitted = self.job, self.emitted
        if emitted == job.sentences:
            raise StopIteration
        now_ns = time.monotonic_ns()
        if not self.started_ns:
            self.started_ns = now_ns
            job.note_start(now_ns)
        due = job.due_count(self.started_ns, now_ns)
        if due == emitted:
            if self.just_emitted:  # to sleep now would keep back what was emitted before
                self.just_emitted = False
                return None
            time.sleep((job.due_ns(self.started_ns, emitted) - now_ns) / 1e9)
            due = job.due_count(self.started_ns, time.monotonic_ns())
        self.just_emitted = True
        self.emitted = due
        return self.sentences[emitted:due]


class Split(ps.Bolt):
    """A tuple for each word."""

    fields = ("word",)

    def process(self, tup: ps.Tuple) -> Iterator[tuple[str]]:
        for word in tup.line.split():
            yield (word,)


class NumberedSplit(ps.Bolt):
    """A tuple for each word, with the number of its sentence."""

    fields = ("word", "sentence")

    def process(self, tup: ps.Tuple) -> Iterator[tuple[str, int]]:
        sentence = tup.sentence
        for word in tup.line.split():
            yield word, sentence


class Count(ps.KeyedBolt):
    """How often each word came; left behind at the end."""

    fields = ()

    def __init__(self, job: Job) -> None:
        self.job = job

    def open(self, context: ps.TaskContext) -> None:
        self.notes = CounterNotes(self.job, f"counter-{context.index}")

    def process(self, key: str, tup: ps.Tuple) -> None:  # noqa: ARG002
        self.state[key] = self.state.get(key, 0) + 1

    def finish(self) -> None:
        self.notes.save(self.state, time.monotonic_ns())


class TimedCount(Count):
    """Notes besides when each sentence's words were counted."""

    def process(self, key: str, tup: ps.Tuple) -> None:
        self.state[key] = self.state.get(key, 0) + 1
        self.notes.times[tup.sentence] = time.monotonic_ns()


class SplitBatches(ps.BatchBolt):
    """A row for each word."""

    fields = ("word",)

    def process_batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        words = pc.split_pattern(batch["line"], " ")
        return pa.RecordBatch.from_arrays([pc.list_flatten(words)], names=self.fields)


class NumberedSplitBatches(ps.BatchBolt):
    """A row for each word, with the number of its sentence."""

    fields = ("word", "sentence")

    def process_batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        words = pc.split_pattern(batch["line"], " ")
        sentences = batch["sentence"].take(pc.list_parent_indices(words))
        return pa.RecordBatch.from_arrays([pc.list_flatten(words), sentences], names=self.fields)


class CountBatches(ps.BatchBolt):
    """How often each word came; left behind at the end.

    Each batch is counted at once, and its counts are added up with those before when there are many of them.
    """

    fields = ()

    def __init__(self, job: Job) -> None:
        self.job = job

    def open(self, context: ps.TaskContext) -> None:
        self.notes = CounterNotes(self.job, f"counter-{context.index}")
        self.counts: list[pa.RecordBatch] = []
        self.rows = 0

    def process_batch(self, batch: pa.RecordBatch) -> None:
        counted = pc.value_counts(batch["word"])
        self.counts.append(pa.RecordBatch.from_struct_array(counted))
        self.rows += len(counted)
        if self.rows > _MERGED_FROM_ROWS:
            self.merge()

    def merge(self) -> None:
        merged = pa.Table.from_batches(self.counts).group_by("values").aggregate([("counts", "sum")])
        self.counts = merged.rename_columns(["values", "counts"]).to_batches()
        self.rows = merged.num_rows

    def finish(self) -> None:
        self.merge()
        finished_ns = time.monotonic_ns()
        [merged] = self.counts
        self.notes.save(dict(zip(*(column.to_pylist() for column in merged.columns), strict=True)), finished_ns)


class TimedCountBatches(CountBatches):
    """Notes besides when each sentence's words were counted."""

    def process_batch(self, batch: pa.RecordBatch) -> None:
        super().process_batch(batch)
        now_ns = time.monotonic_ns()
        for sentence in batch["sentence"].unique().to_pylist():
            self.notes.times[sentence] = now_ns


if __name__ == "__main__":
    main()
