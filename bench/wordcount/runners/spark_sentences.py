"""Sentences at a rate, for Structured Streaming: a data source in Python that has whatever is due.

Of the sources that come with Spark, the socket's takes time that grows with the square of a micro-batch, and the rate's
has new rows once a second only.
"""

import time
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from bench.wordcount.corpus import read_corpus
from bench.wordcount.job import Job


class Sentences(DataSource):  # type: ignore[misc]
    """`spark.readStream.format("sentences").option("job", FILE)`."""

    @classmethod
    def name(cls) -> str:
        return "sentences"

    def schema(self) -> str:
        return "line string"

    def streamReader(self, schema: Any) -> "Reader":  # noqa: ARG002
        return Reader(Job.from_file(Path(self.options["job"])), int(self.options["parts"]))


class Part(InputPartition):  # type: ignore[misc]
    """The sentences that one task reads of a micro-batch."""

    def __init__(self, begin: int, end: int) -> None:
        self.begin = begin
        self.end = end


class Reader(DataSourceStreamReader):  # type: ignore[misc]
    """Offsets are numbers of sentences. Sentence 0 is due when Spark first asks."""

    def __init__(self, job: Job, parts: int) -> None:
        self.job = job
        self.parts = parts
        self.started_ns = 0

    def initialOffset(self) -> dict[str, int]:
        return {"sentence": 0}

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:  # noqa: ARG002
        now_ns = time.monotonic_ns()
        if not self.started_ns:
            self.started_ns = now_ns
            self.job.note_start(now_ns)
        return {"sentence": self.job.due_count(self.started_ns, now_ns)}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[Part]:
        begin, count = start["sentence"], end["sentence"] - start["sentence"]
        edges = [begin + count * part // self.parts for part in range(self.parts + 1)]
        return [Part(*edge) for edge in pairwise(edges) if edge[0] < edge[1]]

    def read(self, partition: Part) -> Iterator[pa.RecordBatch]:
        corpus = _corpus(self.job.corpus)
        lines = [corpus[sentence % len(corpus)] for sentence in range(partition.begin, partition.end)]
        yield pa.RecordBatch.from_arrays([pa.array(lines)], names=["line"])

    def commit(self, end: dict[str, int]) -> None:
        """Nothing to forget."""


@cache
def _corpus(path: str) -> list[str]:
    """Read once per process: Spark's Python workers serve many micro-batches."""
    return read_corpus(Path(path))
