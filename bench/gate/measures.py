"""What is measured of a side in a round. Both sides are given exactly the same work."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import msgspec

from bench.gate.build import GateError
from bench.gate.plan import Plan
from bench.gate.side import Side
from bench.wordcount.contest import JobFolder
from bench.wordcount.corpus import WORDS_PER_SENTENCE
from bench.wordcount.notes import read_flood
from bench.wordcount.runner import CpuWatch

_RATE_PER_S = 1_000
_WORKERS = 3
_TRIAL_TUPLES = 50_000
_TRIAL_SENTENCES = 40_000
_TRIAL_MESSAGES = 50_000

Samples = dict[str, float]
Measure = Callable[[Side], Samples]


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """How much is given to each side, so that a run takes about as long as was planned."""

    tuples: int
    sentences: int
    batch_sentences: int
    messages: int


def work_for(side: Side, plan: Plan) -> Work:
    """As much as a side does in the time that was planned, by a first trial, which warms it up."""
    _warm_up(side, plan)
    rates = {name: _words(side, _TRIAL_SENTENCES, bolts)[0] for name, bolts in _bolts(plan)}
    sentences = {name: int(rate * plan.flood_s / WORDS_PER_SENTENCE) for name, rate in rates.items()}
    return Work(
        tuples=int(side.ask("flood", count=_TRIAL_TUPLES)["per_s"] * plan.flood_s),
        sentences=sentences["wordcount"],
        batch_sentences=sentences.get("wordcount_batches", 0),
        messages=int(_messages(side, _TRIAL_MESSAGES, plan)["per_s"] * plan.flood_s / 2),
    )


def measures(work: Work, plan: Plan) -> list[Measure]:
    """One after another, each of both sides before the next."""

    def overhead(side: Side) -> Samples:
        run = side.ask("flood", count=work.tuples)
        return {"overhead_tuples_per_s": run["per_s"], "overhead_cpu_us_per_tuple": run["cpu_us"]}

    def overhead_at_a_rate(side: Side) -> Samples:
        run = side.ask("pace", rate_per_s=_RATE_PER_S, seconds=plan.paced_s)
        return {
            "overhead_p50_us_at_1000_per_s": run["p50_us"],
            "overhead_cpu_us_per_tuple_at_1000_per_s": run["cpu_us"],
        }

    def ipc(side: Side) -> Samples:
        run = _messages(side, work.messages, plan)
        return {
            "ipc_messages_per_s": run["per_s"],
            "ipc_cpu_us_per_message": run["cpu_us"],
            "ipc_p50_us_at_1000_per_s": run["p50_us"],
        }

    def wordcount(name: str, bolts: str) -> Measure:
        sentences = work.sentences if bolts == "record" else work.batch_sentences

        def counted(side: Side) -> Samples:
            per_s, cpu_us = _words(side, sentences, bolts)
            return {f"{name}_words_per_s": per_s, f"{name}_cpu_us_per_word": cpu_us}

        return counted

    return [overhead, overhead_at_a_rate, *(wordcount(*each) for each in _bolts(plan)), ipc]


def _warm_up(side: Side, plan: Plan) -> None:
    side.ask("flood", count=_TRIAL_TUPLES)
    for _, bolts in _bolts(plan):
        _words(side, _TRIAL_SENTENCES, bolts)


def warm_up(side: Side, work: Work, plan: Plan) -> None:
    """Everything once, thrown away."""
    for measure in measures(work, plan):
        measure(side)


def _bolts(plan: Plan) -> list[tuple[str, str]]:
    return [("wordcount", "record"), *([("wordcount_batches", "batch")] if plan.batches else [])]


def _messages(side: Side, count: int, plan: Plan) -> Samples:
    return side.ask("messages", count=count, rate_per_s=_RATE_PER_S, paced=int(_RATE_PER_S * plan.paced_s / 3))


def _words(side: Side, sentences: int, bolts: str) -> tuple[float, float]:
    """Words per second, and CPU µs per word of all processes of the side."""
    with JobFolder(sentences, 0, {"bolts": bolts, "workers": _WORKERS}) as job:
        watch = CpuWatch(Path(job.folder), side.session)
        side.ask("words", while_waiting=watch.look, **asdict(job))
        watch.look()
        if watch.taken_s is None:
            message = f"{side.name} counted {sentences} sentences too soon to be seen"
            raise GateError(message)
        return read_flood(job).words_per_s, watch.taken_s * 1e6 / (sentences * WORDS_PER_SENTENCE)
