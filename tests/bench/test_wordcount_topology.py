"""The topologies that are measured, in one process: they count right, and note when."""

from pathlib import Path

import pytest

from bench.wordcount.corpus import write_corpus
from bench.wordcount.job import Job
from bench.wordcount.notes import read_flood, read_paced
from bench.wordcount.runners.penstock_run import topology_of
from penstock.testing import run_topology


def job_of(tmp_path: Path, bolts: str, rate_per_s: int) -> Job:
    corpus = tmp_path / "corpus.txt"
    write_corpus(corpus, sentences=40)
    return Job(corpus=str(corpus), sentences=100, rate_per_s=rate_per_s, folder=str(tmp_path), options={"bolts": bolts})


@pytest.mark.parametrize("bolts", ["record", "batch"])
@pytest.mark.parametrize("workers", [1, 3])
def test_words_are_counted_right_unthrottled(tmp_path: Path, bolts: str, workers: int) -> None:
    job = job_of(tmp_path, bolts, 0)
    assert run_topology(topology_of(job), workers=workers).failures == []
    assert read_flood(job).words_per_s > 0


@pytest.mark.parametrize("bolts", ["record", "batch"])
def test_every_sentence_has_a_latency_at_a_rate(tmp_path: Path, bolts: str) -> None:
    job = job_of(tmp_path, bolts, 10_000)
    assert run_topology(topology_of(job), workers=3).failures == []
    latencies_ms = read_paced(job, warm_up=20).latencies_ms
    assert len(latencies_ms) == 80
    assert min(latencies_ms) > 0
