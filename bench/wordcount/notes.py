"""Reading what a runner left behind, and refusing it if the words were not counted right."""

import json
from array import array
from collections import Counter
from pathlib import Path

import msgspec

from bench.wordcount.corpus import WORDS_PER_SENTENCE, expected_counts, read_corpus
from bench.wordcount.job import COUNTS_SUFFIX, START_FILE, TIMES_SUFFIX, Job
from bench.wordcount.runner import RunnerError


class Flooded(msgspec.Struct, frozen=True, kw_only=True):
    """What came of an unthrottled run."""

    elapsed_s: float
    words_per_s: float


class Paced(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a run at a rate."""

    latencies_ms: list[float]
    """By sentence, from when it was due until the last of its words was counted; without the warm-up."""
    saturated: bool
    """Sentences were counted more slowly than they were due."""


# Below this part of the rate asked for, sentences pile up faster than they are counted.
_SUSTAINED = 0.95


def read_flood(job: Job) -> Flooded:
    """From the first sentence until the last word was counted."""
    _check_counts(job)
    elapsed_s = (_finished_ns(job) - _started_ns(job)) / 1e9
    return Flooded(elapsed_s=elapsed_s, words_per_s=job.sentences * WORDS_PER_SENTENCE / elapsed_s)


def read_paced(job: Job, warm_up: int) -> Paced:
    """The latency of each sentence but the first `warm_up`."""
    _check_counts(job)
    started_ns = _started_ns(job)
    counted_ns = _latest_times(job)
    missing = [sentence for sentence, at_ns in enumerate(counted_ns) if not at_ns]
    if missing:
        message = f"{len(missing)} of {job.sentences} sentences have no time, the first is number {missing[0]}"
        raise RunnerError(message)
    latencies_ms = [
        (counted_ns[sentence] - job.due_ns(started_ns, sentence)) / 1e6 for sentence in range(warm_up, job.sentences)
    ]
    due_s = len(latencies_ms) / job.rate_per_s
    taken_s = (max(counted_ns[warm_up:]) - counted_ns[warm_up]) / 1e9
    return Paced(latencies_ms=latencies_ms, saturated=due_s < _SUSTAINED * taken_s)


def _check_counts(job: Job) -> None:
    counted: Counter[str] = Counter()
    for file in _counts_files(job):
        counted.update(json.loads(file.read_text())["counts"])
    expected = expected_counts(read_corpus(Path(job.corpus)), job.sentences)
    if counted != expected:
        wrong = sum((counted - expected).values()) + sum((expected - counted).values())
        message = (
            f"wanted {sum(expected.values())} words, got {sum(counted.values())} "
            f"from {len(_counts_files(job))} counters; {wrong} are too many or missing"
        )
        raise RunnerError(message)


def _latest_times(job: Job) -> list[int]:
    """By sentence, when the last of all counters had counted its last word of it."""
    latest = [0] * job.sentences
    for file in Path(job.folder).glob(f"*{TIMES_SUFFIX}"):
        times = array("q", file.read_bytes())
        latest = list(map(max, latest, times))
    return latest


def _started_ns(job: Job) -> int:
    return int(Path(job.folder, START_FILE).read_text())


def _finished_ns(job: Job) -> int:
    return max(int(json.loads(file.read_text())["finished_ns"]) for file in _counts_files(job))


def _counts_files(job: Job) -> list[Path]:
    return sorted(Path(job.folder).glob(f"*{COUNTS_SUFFIX}"))
