"""Spark's Structured Streaming in micro-batches: split by Python over Arrow, counted by Spark.

Unthrottled, sentences come from files, many of them per micro-batch; at a rate, over a socket. Each micro-batch starts
as soon as the one before is done, and its words are counted when its results have reached Python (`foreachBatch`). All
sentences have the same number of words and come in order, so the words counted so far tell which sentences are done.

What makes it fast: as many shuffle partitions as cores, the checkpoint in memory, no web page.
"""

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from bench.wordcount.corpus import SENTENCES, WORDS_PER_SENTENCE
from bench.wordcount.feeder import Feeder
from bench.wordcount.job import CounterNotes, Job

_MEMORY = Path("/dev/shm")
_WARM_UP_BATCHES = 3


def main() -> None:
    """Run one job."""
    job = Job.from_command_line()
    cores = len(os.sched_getaffinity(0))
    # The folder of the checkpoint is this run's own, and in memory where there is a file system for that.
    checkpoints = Path(tempfile.mkdtemp(prefix="penstock-bench-", dir=_MEMORY if os.access(_MEMORY, os.W_OK) else None))
    try:
        spark = (
            SparkSession.builder.master(f"local[{cores}]")
            .config("spark.ui.enabled", "false")
            .config("spark.driver.memory", "2g")
            .config("spark.sql.shuffle.partitions", cores)
            .config("spark.sql.streaming.noDataMicroBatches.enabled", "false")
            .getOrCreate()
        )
        (_pace if job.rate_per_s else _flood)(spark, job, checkpoints)
        spark.stop()
    finally:
        shutil.rmtree(checkpoints, ignore_errors=True)


def _flood(spark: SparkSession, job: Job, checkpoints: Path) -> None:
    """All sentences from files; a first query over some of them warms up compilers and Python workers."""
    per_batch = job.options["files_per_batch"]
    notes = CounterNotes(job, "counter")

    def count(name: str, files: int) -> Counting:
        folder = Path(job.folder, name)
        folder.mkdir()
        for number in range(files):
            (folder / f"{number}.txt").hardlink_to(job.corpus)
        job.note_start(time.monotonic_ns())
        lines = spark.readStream.option("maxFilesPerTrigger", per_batch).text(str(folder))
        counting = Counting(job, lines, notes, checkpoints / name, availableNow=True)
        counting.query.awaitTermination()
        return counting

    count("warm-up", _WARM_UP_BATCHES * per_batch)
    counting = count("measured", job.sentences // SENTENCES)
    notes.save(counting.counts, counting.finished_ns)


def _pace(spark: SparkSession, job: Job, checkpoints: Path) -> None:
    notes = CounterNotes(job, "counter")
    with Feeder(job, numbered=False, stays=True) as feeder:
        lines = spark.readStream.format("socket").option("host", "127.0.0.1").option("port", feeder.port).load()
        counting = Counting(job, lines, notes, checkpoints / "measured", processingTime="0 seconds")
        while counting.words < job.sentences * WORDS_PER_SENTENCE:
            if counting.query.awaitTermination(1):
                message = f"the query ended after {counting.words} words: {counting.query.exception()}"
                raise RuntimeError(message)
        counting.query.stop()
    notes.save(counting.counts, counting.finished_ns)


class Counting:
    """A running query over lines, and what came of it so far."""

    def __init__(self, job: Job, lines: DataFrame, notes: CounterNotes, checkpoint: Path, **trigger: Any) -> None:
        self.counts: dict[str, int] = {}
        self.words = 0
        self.finished_ns = 0
        self._paced = bool(job.rate_per_s)
        self._notes = notes
        self.query = (
            lines.mapInArrow(_split, "word string")
            .groupBy("word")
            .count()
            .writeStream.outputMode("update")
            .option("checkpointLocation", str(checkpoint))
            .foreachBatch(self._take)
            .trigger(**trigger)
            .start()
        )

    def _take(self, batch: DataFrame, number: int) -> None:  # noqa: ARG002
        table = batch.toArrow()
        self.finished_ns = time.monotonic_ns()
        done = self.words // WORDS_PER_SENTENCE
        for word, count in zip(table["word"].to_pylist(), table["count"].to_pylist(), strict=True):
            self.words += count - self.counts.get(word, 0)
            self.counts[word] = count
        if self._paced:
            for sentence in range(done, self.words // WORDS_PER_SENTENCE):
                self._notes.times[sentence] = self.finished_ns


def _split(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        words = pc.list_flatten(pc.split_pattern(batch.column(0), " "))
        yield pa.RecordBatch.from_arrays([words], names=["word"])


if __name__ == "__main__":
    main()
