"""The rounds in which everybody counts, one after another, and what was measured."""

import shutil
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from bench.progress import Progress
from bench.rounds import interleaved
from bench.stats import Distribution, Spread
from bench.wordcount.contestants import Contestant
from bench.wordcount.corpus import WORDS_PER_SENTENCE, write_corpus
from bench.wordcount.environments import NotInstalledError
from bench.wordcount.job import Job
from bench.wordcount.notes import read_flood, read_paced
from bench.wordcount.plan import Plan
from bench.wordcount.runner import RunnerError, run_job


class ThroughputRow(msgspec.Struct, frozen=True, kw_only=True):
    """The unthrottled words of one contestant."""

    contestant: str
    words_per_s: Spread
    cpu_us_per_word: Spread | None
    """Of all processes of the side, from the first sentence to the last count; None if it was over too soon."""


class LatencyRow(msgspec.Struct, frozen=True, kw_only=True):
    """How long it took until the last word of a sentence was counted."""

    contestant: str
    rate_per_s: int
    p50_ms: Spread
    p99_ms: Spread
    p999_ms: Spread
    max_ms: Spread
    cpu_us_per_word: Spread | None
    saturated: bool


class Paced(msgspec.Struct, frozen=True, kw_only=True):
    """One run at a rate."""

    latency_ms: Distribution
    saturated: bool
    cpu_us_per_word: float | None


class Contest:
    """Contestants by name. Whoever is absent or fails is left out from then on, with the reason."""

    def __init__(self, contestants: Sequence[Contestant], plan: Plan, environments: Path, progress: Progress) -> None:
        """Make the environments that are wanted and not there; with a quick plan, leave those out."""
        self.left_out: dict[str, str] = {}
        self._contestants = {contestant.name: contestant for contestant in contestants}
        self._plan = plan
        self._environments = environments
        self._progress = progress
        self._flood_sentences = {contestant.name: contestant.first_flood for contestant in contestants}
        self._prepare()

    def throughput(self) -> list[ThroughputRow]:
        """Unthrottled runs, each of so many sentences that it takes long enough."""
        measured: dict[str, list[tuple[float, float | None]]] = {}
        names = self._present()
        for name, _ in interleaved(self._progress, "throughput", names, ["unthrottled"], self._plan.rounds):
            if name not in self.left_out:
                try:
                    measured.setdefault(name, []).append(self._flood(self._contestants[name]))
                except RunnerError as error:
                    self.left_out[name] = f"failed unthrottled: {error}"
        return [
            ThroughputRow(
                contestant=name,
                words_per_s=Spread.over(words_per_s for words_per_s, _ in results),
                cpu_us_per_word=_spread(cpu_us for _, cpu_us in results),
            )
            for name, results in measured.items()
            if results
        ]

    def latency(self) -> list[LatencyRow]:
        """Runs at a rate."""
        measured: dict[tuple[str, int], list[Paced]] = {}
        names, rates = self._present(), self._plan.rates_per_s
        for name, rate_per_s in interleaved(self._progress, "latency", names, rates, self._plan.rounds):
            if name not in self.left_out:
                try:
                    result = self._pace(self._contestants[name], rate_per_s)
                    measured.setdefault((name, rate_per_s), []).append(result)
                except RunnerError as error:
                    self.left_out[name] = f"failed at {rate_per_s:,} sentences/s: {error}"
        return [
            LatencyRow(
                contestant=name,
                rate_per_s=rate_per_s,
                p50_ms=Spread.over(run.latency_ms.p50 for run in results),
                p99_ms=Spread.over(run.latency_ms.p99 for run in results),
                p999_ms=Spread.over(run.latency_ms.p999 for run in results),
                max_ms=Spread.over(run.latency_ms.highest for run in results),
                cpu_us_per_word=_spread(run.cpu_us_per_word for run in results),
                saturated=2 * sum(run.saturated for run in results) > len(results),
            )
            for (name, rate_per_s), results in measured.items()
        ]

    def _present(self) -> list[str]:
        return [name for name in self._contestants if name not in self.left_out]

    def _prepare(self) -> None:
        with self._progress.stage("environments", len(self._contestants)) as step:
            for name, contestant in self._contestants.items():
                step(name)
                if reason := self._absence(contestant):
                    self.left_out[name] = reason

    def _absence(self, contestant: Contestant) -> str | None:
        if contestant.slow and self._plan.quick:
            return "it is slow to start: only without --quick"
        if contestant.needs_java and shutil.which("java") is None:
            return "absent: no java on the PATH"
        environment = contestant.environment
        if environment is None or environment.is_ready(self._environments):
            return None
        if self._plan.quick:
            return "absent: only a run without --quick installs it"
        try:
            environment.make(self._environments)
        except NotInstalledError as error:
            return f"absent: {error}"
        return None

    def _flood(self, contestant: Contestant) -> tuple[float, float | None]:
        while True:
            sentences = self._flood_sentences[contestant.name]
            with JobFolder(sentences, 0, contestant.flood_options) as job:
                cpu_us_per_word = self._run(contestant, job)
                result = read_flood(job)
            if result.elapsed_s >= self._plan.flood_s:
                return result.words_per_s, cpu_us_per_word
            self._flood_sentences[contestant.name] *= 4

    def _pace(self, contestant: Contestant, rate_per_s: int) -> Paced:
        warm_up = int(contestant.warm_up_s * rate_per_s)
        sentences = warm_up + int(self._plan.paced_s * rate_per_s)
        with JobFolder(sentences, rate_per_s, contestant.paced_options) as job:
            cpu_us_per_word = self._run(contestant, job)
            result = read_paced(job, warm_up)
        return Paced(
            latency_ms=Distribution.of(result.latencies_ms),
            saturated=result.saturated,
            cpu_us_per_word=cpu_us_per_word,
        )

    def _run(self, contestant: Contestant, job: Job) -> float | None:
        """The CPU time of all its processes per word, in µs."""
        environment = contestant.environment
        python = Path(sys.executable) if environment is None else environment.python(self._environments)
        cpu_s = run_job(python, contestant.runner, job, self._plan.patience_s)
        return None if cpu_s is None else cpu_s * 1e6 / (job.sentences * WORDS_PER_SENTENCE)


def _spread(values: Iterable[float | None]) -> Spread | None:
    """Over those rounds that were seen; None if none was."""
    seen = [value for value in values if value is not None]
    return Spread.over(seen) if seen else None


class JobFolder:
    """A job, with a folder that lives as long as it is looked at."""

    def __init__(self, sentences: int, rate_per_s: int, options: dict[str, object]) -> None:
        """Describe the job."""
        self._folder = tempfile.TemporaryDirectory(prefix="penstock-bench-", ignore_cleanup_errors=True)
        corpus = Path(self._folder.name, "corpus.txt")
        write_corpus(corpus)
        notes = Path(self._folder.name, "notes")
        notes.mkdir()
        self.job = Job(
            corpus=str(corpus), sentences=sentences, rate_per_s=rate_per_s, folder=str(notes), options=options
        )

    def __enter__(self) -> Job:
        return self.job

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()
