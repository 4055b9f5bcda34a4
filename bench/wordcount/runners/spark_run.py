"""Spark's Structured Streaming in micro-batches: split by Python over Arrow, counted by Spark.

Unthrottled, sentences come from files, many of them per micro-batch; at a rate, from a data source in Python. Each
micro-batch starts as soon as the one before is done, and its words are counted when its results have reached Python
(`foreachBatch`). All sentences have the same number of words and come in order, so the words counted so far tell which
sentences are done.

What makes it fast: as many shuffle partitions as cores, the checkpoint in memory, no web page.
"""

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from bench.wordcount.corpus import SENTENCES, WORDS_PER_SENTENCE
from bench.wordcount.job import CounterNotes, Job
from bench.wordcount.runners.spark_sentences import Sentences

_MEMORY = Path("/dev/shm")

# Unthrottled: micro-batches of about a second. With larger ones it counts faster, and answers later.
_FILES_PER_BATCH = 10
# Before anything is measured: compilers and Python workers warm up.
_WARM_UP_BATCHES = 3


def main() -> None:
    """Run one job."""
    job = Job.from_command_line()
    os.environ["PYSPARK_PYTHON"] = sys.executable  # else whatever python3 is on the PATH
    cores = len(os.sched_getaffinity(0))
    # The folder of the checkpoint is this run's own, and in memory where there is a file system for that.
    checkpoints = Path(tempfile.mkdtemp(prefix="penstock-bench-", dir=_MEMORY if os.access(_MEMORY, os.W_OK) else None))
    try:
        spark = (
            SparkSession.builder.master(f"local[{cores}]")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.driver.memory", "2g")
            .config("spark.sql.shuffle.partitions", cores)
            .config("spark.sql.streaming.noDataMicroBatches.enabled", "false")
            .getOrCreate()
        )
        _count_files(spark, job, checkpoints, "warm-up", _WARM_UP_BATCHES * _FILES_PER_BATCH)
        (_pace if job.rate_per_s else _flood)(spark, job, checkpoints)
        spark.stop()
    finally:
        shutil.rmtree(checkpoints, ignore_errors=True)


def _flood(spark: SparkSession, job: Job, checkpoints: Path) -> None:
    """All sentences from files."""
    job.note_start(time.monotonic_ns())
    _count_files(spark, job, checkpoints, "measured", job.sentences // SENTENCES).save()


def _pace(spark: SparkSession, job: Job, checkpoints: Path) -> None:
    """Whatever is due."""
    spark.dataSource.register(Sentences)
    parts = spark.sparkContext.defaultParallelism
    lines = spark.readStream.format("sentences").option("job", sys.argv[1]).option("parts", parts).load()
    counting = Counting(job, lines, checkpoints / "measured", processingTime="0 seconds")
    while counting.words < job.sentences * WORDS_PER_SENTENCE:
        if counting.query.awaitTermination(1):
            message = f"the query ended after {counting.words} words: {counting.query.exception()}"
            raise RuntimeError(message)
    counting.query.stop()
    counting.save()


def _count_files(spark: SparkSession, job: Job, checkpoints: Path, name: str, files: int) -> "Counting":
    """Count the corpus so many times."""
    folder = Path(job.folder, name)
    folder.mkdir()
    for number in range(files):
        (folder / f"{number}.txt").hardlink_to(job.corpus)
    lines = spark.readStream.option("maxFilesPerTrigger", _FILES_PER_BATCH).text(str(folder))
    counting = Counting(job, lines, checkpoints / name, availableNow=True)
    counting.query.awaitTermination()
    return counting


class Counting:
    """A running query over lines, and what came of it so far."""

    def __init__(self, job: Job, lines: DataFrame, checkpoint: Path, **trigger: Any) -> None:
        self.words = 0
        self._counts: dict[str, int] = {}
        self._finished_ns = 0
        self._notes = CounterNotes(job, "counter")
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

    def save(self) -> None:
        """Leave everything behind."""
        self._notes.save(self._counts, self._finished_ns)

    def _take(self, batch: DataFrame, number: int) -> None:  # noqa: ARG002
        table = batch.toArrow()
        self._finished_ns = time.monotonic_ns()
        done = self.words // WORDS_PER_SENTENCE
        for word, count in zip(table["word"].to_pylist(), table["count"].to_pylist(), strict=True):
            self.words += count - self._counts.get(word, 0)
            self._counts[word] = count
        # Unthrottled there is no place for times.
        for sentence in range(done, min(self.words // WORDS_PER_SENTENCE, len(self._notes.times))):
            self._notes.times[sentence] = self._finished_ns


def _split(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        words = pc.list_flatten(pc.split_pattern(batch.column(0), " "))
        yield pa.RecordBatch.from_arrays([words], names=["word"])


if __name__ == "__main__":
    main()
