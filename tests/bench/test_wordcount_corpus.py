from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.wordcount.corpus import (
    VOCABULARY,
    WORDS_PER_SENTENCE,
    expected_counts,
    read_corpus,
    sentence_stream,
    write_corpus,
)
from bench.wordcount.job import Job


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    path = tmp_path_factory.mktemp("corpus") / "corpus.txt"
    write_corpus(path, sentences=2_000)
    return read_corpus(path)


def test_every_sentence_has_ten_words_of_the_vocabulary(corpus: list[str]) -> None:
    assert {len(line.split()) for line in corpus} == {WORDS_PER_SENTENCE}
    assert len({word for line in corpus for word in line.split()}) <= VOCABULARY


def test_the_same_sentences_are_written_each_time(tmp_path: Path, corpus: list[str]) -> None:
    write_corpus(tmp_path / "again.txt", sentences=2_000)
    assert read_corpus(tmp_path / "again.txt") == corpus


def test_few_words_are_frequent_and_many_are_rare(corpus: list[str]) -> None:
    counts = [count for _, count in Counter(word for line in corpus for word in line.split()).most_common()]
    assert counts[0] > 1.5 * counts[1]
    assert sum(counts[:10]) > sum(counts[1000:])


@pytest.mark.parametrize("count", [0, 7, 2_000, 2_001, 4_500])
def test_what_is_expected_is_what_counting_gives(corpus: list[str], count: int) -> None:
    counted = Counter(word for line in sentence_stream(corpus, count) for word in line.split())
    assert expected_counts(corpus, count) == counted


@given(rate=st.integers(1, 100_000), sentence=st.integers(0, 999), started=st.integers(0, 2**62))
def test_a_sentence_is_due_from_the_nanosecond_at_which_it_is_due(rate: int, sentence: int, started: int) -> None:
    job = Job(corpus="", sentences=1_000, rate_per_s=rate, folder="")
    due_ns = job.due_ns(started, sentence)
    assert job.due_count(started, due_ns - 1) <= sentence
    assert job.due_count(started, due_ns) in {sentence, sentence + 1}
    assert job.due_count(started, due_ns + 1) == sentence + 1
