"""Every example, run to its end in one process: the right results, whatever the number of workers."""

import importlib.util
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import penstock
from penstock.testing import Result, run_topology
from penstock.topology.topology import Topology

EXAMPLES = Path(__file__).parents[2] / "examples"
# Without a topology that runs by itself, or with a need for a session: tested with what they show, in tests/spark.
ELSEWHERE = {"between_two_queries", "files_to_parquet", "ring_demo", "stream_to_spark", "table_through_topology"}
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py") if path.stem not in ELSEWHERE)

worker_counts = pytest.mark.parametrize("workers", [1, 3])


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def _modules_are_forgotten() -> Iterator[None]:
    yield
    for name in [name for name in sys.modules if name.startswith("example_")]:
        del sys.modules[name]


def run(topo: Topology, workers: int) -> Result:
    result = run_topology(topo, workers=workers, seed=workers)
    assert result.failures == []
    assert result.lost == 0
    return result


@worker_counts
def test_wordcount(tmp_path: Path, workers: int) -> None:
    (tmp_path / "one.txt").write_text("The quick brown fox\njumps over the lazy dog.\n" * 50)
    (tmp_path / "two.txt").write_text("the end\n")
    result = run(example("wordcount").topology(input=str(tmp_path / "*.txt"), tasks=3), workers)

    words = ["the", "quick", "brown", "fox", "jumps", "over", "the", "lazy", "dog"] * 50 + ["the", "end"]
    assert Counter(dict(result.collected("totals"))) == Counter(words)
    assert result.counts["count"].processed == len(words)


def test_wordcount_finds_text_that_ships_with_python() -> None:
    topo = example("wordcount").topology()
    topo.check()
    assert len(topo.components["lines"].logic.files) > 50


@worker_counts
def test_exclamation(workers: int) -> None:
    module = example("exclamation")
    result = run(module.topology(per_second=500, words=100), workers)
    assert Counter(word for (word,) in result.collected("exclaimed")) == {f"{name}!!!!!!": 20 for name in module.NAMES}


@worker_counts
def test_throughput_test(workers: int) -> None:
    result = run(example("throughput_test").topology(strings=2003), workers)
    totals = dict(result.collected("totals"))
    assert sorted(totals) == [0, 1, 2, 3, 4]
    assert sum(totals.values()) == 2003
    assert result.counts["identity"].processed == 2003


def test_the_strings_of_the_throughput_test_have_the_size_of_the_paper() -> None:
    module = example("throughput_test")
    spout = module.RandomStrings(size_bytes=10_000, limit=5)
    spout.open(penstock.TaskContext(topology="t", component="strings", index=1, count=2))
    made = [spout.next()[0], spout.next()[0]]
    assert [len(text) for text in made] == [10_000, 10_000]
    assert made[0] != made[1]
    with pytest.raises(StopIteration):
        spout.next()


@worker_counts
def test_log_stream(workers: int) -> None:
    module = example("log_stream")
    result = run(module.topology(lines=3000, per_second=1000), workers)

    terms: Counter[str] = Counter()
    minutes: Counter[tuple[str, str]] = Counter()
    for number in range(3000):
        if number % 500 == 499:
            continue
        entry = module.json.loads(module.made_up_line(number))
        terms.update(entry["cs-uri-stem"].strip("/").replace(".", "/").split("/"))
        bad = entry["sc-status"] >= 400 or entry["time-taken"] > module.SLOW_MS
        level = "error" if entry["sc-status"] >= 500 else "warning" if bad else "info"
        minutes[entry["time"][:5], level] += 1
    assert Counter(dict(result.collected("indexed"))) == terms
    last: dict[tuple[str, str], int] = {}
    for minute, level, entries in result.collected("counted"):
        last[minute, level] = max(entries, last.get((minute, level), 0))
    assert last == minutes
    assert len(result.collected("broken")) == 6


def test_log_stream_says_what_is_new_as_time_passes(tmp_path: Path) -> None:
    module = example("log_stream")
    result = run(module.topology(lines=3000, per_second=1000), 1)
    rows = [(minute, level) for minute, level, _ in result.collected("counted")]
    assert max(Counter(rows).values()) > 1

    (tmp_path / "log.json").write_text("\n".join(module.made_up_line(number) for number in range(10)))
    from_file = run(module.topology(input=str(tmp_path / "*.json")), 2)
    assert from_file.counts["rules"].processed == 10


@worker_counts
def test_sol(workers: int) -> None:
    result = run(example("sol").topology(per_second=1000, seconds=1.0), workers)
    [(tuples, p50_us, p99_us)] = result.collected("measured")
    assert tuples == 1000
    assert 0 <= p50_us <= p99_us
    assert [result.counts[f"bolt{number}"].processed for number in range(1, 6)] == [1000] * 5


@worker_counts
def test_leron_chain(workers: int) -> None:
    result = run(example("leron_chain").topology(words=2000, rounds=1), workers)
    assert {result.counts[name].processed for name in ("compute", "exclam1", "exclam2")} == {2000}
    assert result.collected("checked") == [(2000, 0)]


@worker_counts
def test_partial_counts(workers: int) -> None:
    module = example("partial_counts")
    result = run(module.topology(words=8000, tasks=4), workers)
    words: Counter[str] = Counter()
    for index in range(2):
        spout = module.SkewedWords(words=8000, skew=1.2)
        spout.open(penstock.TaskContext(topology="t", component="words", index=index, count=2))
        while spout.left:
            words.update(word for (word,) in spout.next())
    assert Counter(dict(result.collected("totals"))) == words
    assert words.most_common(1)[0][1] > 1400, "one word is more than half of what a task should do"
    work = dict(result.collected("work"))
    assert sum(work.values()) == 8000
    assert max(work.values()) < 2100, "and yet no task does more than a quarter, or hardly"
    assert result.counts["merge"].processed < 4000


@worker_counts
def test_nearest_match(workers: int) -> None:
    module = example("nearest_match")
    result = run(module.topology(points=50, questions=20, shards=3), workers)
    nearest = {
        question: min((module.dist(module.point(-1 - question), module.point(number)), number) for number in range(50))
        for question in range(20)
    }
    assert {question: (distance, point) for question, distance, point in result.collected("matches")} == nearest
    assert len(result.collected("matches")) == 20


SMALL: dict[str, list[str]] = {
    "wordcount": ["--input", str(EXAMPLES / "wordcount.py"), "--top", "3"],
    "exclamation": ["--words", "20"],
    "throughput_test": ["--strings", "20", "--size-bytes", "10"],
    "log_stream": ["--lines", "1000"],
    "sol": ["--seconds", "0.1"],
    "leron_chain": ["--words", "20"],
    "nearest_match": ["--points", "20", "--questions", "5"],
    "partial_counts": ["--words", "800"],
}
SAID = {
    "wordcount": "words in all",
    "exclamation": "20 words",
    "throughput_test": "20 strings of 10 bytes",
    "log_stream": "2  broken lines",
    "sol": "500 tuples through 5 bolts",
    "partial_counts": "task 3 counted",
    "nearest_match": "5 questions, each answered by 4 shards",
    "leron_chain": "20  words at the end, 0 of them wrong",
}


def test_every_example_is_run() -> None:
    assert NAMES == sorted(SMALL) == sorted(SAID)


@pytest.mark.parametrize("name", NAMES)
def test_main_runs_the_topology_and_shows_the_result(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[Any] = []

    def run_here(topo: Topology, *, workers: int | None) -> Result:
        asked.append(workers)
        return run(topo, 2)

    monkeypatch.setattr(penstock, "run", run_here)
    example(name).main([*SMALL[name], "--workers", "7"])

    assert asked == [7]
    assert SAID[name] in capsys.readouterr().out


@pytest.mark.parametrize("name", [*NAMES, "stream_to_spark"])
def test_every_example_could_travel_to_workers_and_says_how_to_run_it(name: str) -> None:
    module = example(name)
    module.topology().check()
    assert module.__doc__ is not None
    assert f"python examples/{name}.py" in module.__doc__
