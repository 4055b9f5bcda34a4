"""Reading what runners left behind; the runners here are the test itself."""

from collections import Counter
from pathlib import Path

import pytest

from bench.wordcount.corpus import read_corpus, write_corpus
from bench.wordcount.job import CounterNotes, Job
from bench.wordcount.notes import read_flood, read_paced
from bench.wordcount.runner import RunnerError

SENTENCES = 10
MS = 1_000_000


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.txt"
    write_corpus(path, sentences=SENTENCES)
    return path


def job_of(corpus: Path, rate_per_s: int) -> Job:
    folder = corpus.parent / "notes"
    folder.mkdir()
    return Job(corpus=str(corpus), sentences=SENTENCES, rate_per_s=rate_per_s, folder=str(folder))


def words_of(corpus: Path) -> Counter[str]:
    return Counter(word for line in read_corpus(corpus) for word in line.split())


def test_throughput_is_all_words_from_the_start_until_the_last_counter_is_done(corpus: Path) -> None:
    job = job_of(corpus, 0)
    words = words_of(corpus)
    half = dict(list(words.items())[::2])
    other = {word: count for word, count in words.items() if word not in half}
    job.note_start(5_000)
    CounterNotes(job, "a").save(half, 5_000 + 250 * MS)
    CounterNotes(job, "b").save(other, 5_000 + 500 * MS)
    assert read_flood(job).words_per_s == pytest.approx(SENTENCES * 10 / 0.5)


def test_latency_is_from_when_a_sentence_was_due_until_the_last_counter_had_its_last_word(corpus: Path) -> None:
    job = job_of(corpus, 1_000)
    job.note_start(7)
    notes = [CounterNotes(job, name) for name in "ab"]
    for sentence in range(SENTENCES):
        notes[0].times[sentence] = 7 + sentence * MS + 2 * MS
        notes[1].times[sentence] = 0 if sentence % 2 else 7 + sentence * MS + 3 * MS
    notes[0].save(words_of(corpus), 0)
    notes[1].save({}, 0)
    paced = read_paced(job, warm_up=4)
    assert paced.latencies_ms == [3.0, 2.0, 3.0, 2.0, 3.0, 2.0]
    assert not paced.saturated


def test_who_counts_more_slowly_than_sentences_are_due_is_saturated(corpus: Path) -> None:
    job = job_of(corpus, 1_000)
    job.note_start(0)
    notes = CounterNotes(job, "a")
    for sentence in range(SENTENCES):
        notes.times[sentence] = 2 * sentence * MS + 1
    notes.save(words_of(corpus), 0)
    assert read_paced(job, warm_up=0).saturated


@pytest.mark.parametrize("damage", ["one more", "one less", "nothing"])
def test_wrong_counts_are_refused(corpus: Path, damage: str) -> None:
    job = job_of(corpus, 0)
    job.note_start(0)
    counts = words_of(corpus)
    if damage == "nothing":
        counts.clear()
    else:
        counts[read_corpus(corpus)[0].split()[0]] += 1 if damage == "one more" else -1
    CounterNotes(job, "a").save(counts, 1)
    with pytest.raises(RunnerError, match=r"wanted 100 words, got .*too many or missing"):
        read_flood(job)


def test_a_sentence_without_a_time_is_refused(corpus: Path) -> None:
    job = job_of(corpus, 1_000)
    job.note_start(0)
    notes = CounterNotes(job, "a")
    notes.times[:] = type(notes.times)("q", [1] * SENTENCES)
    notes.times[3] = 0
    notes.save(words_of(corpus), 0)
    with pytest.raises(RunnerError, match="1 of 10 sentences have no time, the first is number 3"):
        read_paced(job, warm_up=0)
