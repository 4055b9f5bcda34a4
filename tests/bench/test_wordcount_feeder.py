import socket
from pathlib import Path

import pytest

from bench.wordcount.corpus import read_corpus, sentence_stream, write_corpus
from bench.wordcount.feeder import Feeder
from bench.wordcount.job import START_FILE, Job


@pytest.mark.parametrize("rate_per_s", [0, 100_000])
@pytest.mark.parametrize("numbered", [False, True])
def test_all_sentences_come_in_order_and_then_the_end(tmp_path: Path, rate_per_s: int, numbered: bool) -> None:
    corpus = tmp_path / "corpus.txt"
    write_corpus(corpus, sentences=30)
    job = Job(corpus=str(corpus), sentences=1_234, rate_per_s=rate_per_s, folder=str(tmp_path))
    with Feeder(job, numbered=numbered) as feeder, socket.create_connection(("127.0.0.1", feeder.port)) as connection:
        lines = connection.makefile().read().splitlines()
    wanted = list(sentence_stream(read_corpus(corpus), 1_234))
    assert lines == ([f"{number} {line}" for number, line in enumerate(wanted)] if numbered else wanted)
    assert int((tmp_path / START_FILE).read_text()) > 0


def test_one_that_nobody_asked_ends_too(tmp_path: Path) -> None:
    job = Job(corpus="", sentences=1, rate_per_s=0, folder=str(tmp_path))
    with Feeder(job, numbered=False):
        pass
