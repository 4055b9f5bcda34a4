import pytest

from bench.report import Goal
from bench.stats import Spread
from bench.wordcount.contest import LatencyRow, ThroughputRow
from bench.wordcount.contestants import BATCHES, PEERS, RECORDS
from bench.wordcount.goals import wordcount_goals

ONE, TWO, *_, MICRO = sorted(PEERS, key=lambda peer: (peer.micro_batches, peer.processes, peer.slow))
TWO = next(peer for peer in PEERS if peer.processes > 1 and not peer.micro_batches)


def words(name: str, per_s: float, cpu_us: float | None = None) -> ThroughputRow:
    cpu = None if cpu_us is None else Spread.over([cpu_us])
    return ThroughputRow(contestant=name, words_per_s=Spread.over([per_s]), cpu_us_per_word=cpu)


def latency(name: str, p50: float, p99: float, *, saturated: bool = False) -> LatencyRow:
    return LatencyRow(
        contestant=name,
        rate_per_s=5_000,
        p50_ms=Spread.over([p50]),
        p99_ms=Spread.over([p99]),
        p999_ms=Spread.over([p99]),
        max_ms=Spread.over([p99]),
        cpu_us_per_word=None,
        saturated=saturated,
    )


def judged(throughput: list[ThroughputRow], paced: list[LatencyRow]) -> dict[str, Goal]:
    return {goal.name: goal for goal in wordcount_goals(throughput, paced, PEERS)}


def test_words_are_judged_against_the_best_peer() -> None:
    goals = judged([words(RECORDS.name, 7.5), words(BATCHES.name, 14), words(ONE.name, 2), words(TWO.name, 3)], [])
    assert goals["words_per_s_of_record_bolts_over_the_best_peer"].value == pytest.approx(2.5)
    assert goals["words_per_s_of_record_bolts_over_the_best_peer"].holds
    assert goals["words_per_s_of_batch_bolts_over_the_best_peer"].value == pytest.approx(14 / 3)
    assert not goals["words_per_s_of_batch_bolts_over_the_best_peer"].holds


def test_latency_is_judged_against_peers_of_several_processes_that_keep_up() -> None:
    several = [peer for peer in PEERS if peer.processes > 1 and not peer.micro_batches]
    goals = judged(
        [],
        [
            latency(RECORDS.name, 1.0, 5.0),
            latency(ONE.name, 0.1, 0.1),
            latency(several[0].name, 4.0, 8.0),
            latency(several[1].name, 0.2, 0.2, saturated=True),
            latency(MICRO.name, 500.0, 400.0),
        ],
    )
    assert goals["p50_over_the_best_peer_of_several_processes"].value == pytest.approx(0.25)
    assert goals["p50_over_the_best_peer_of_several_processes"].holds
    assert not goals["p99_over_the_best_peer_of_several_processes"].holds
    assert goals["p50_over_micro_batches"].holds
    assert not goals["p99_over_micro_batches"].holds


def test_cpu_time_is_judged_against_the_bytewax_that_takes_least() -> None:
    one, two = (peer.name for peer in PEERS if peer.name.startswith("Bytewax"))
    name = "cpu_s_per_million_words_of_record_bolts_over_bytewax"
    goal = judged([words(RECORDS.name, 1, 1.2), words(one, 1, 2.0), words(two, 1, 3.0), words(MICRO.name, 1, 0.1)], [])
    assert goal[name].value == pytest.approx(0.6)
    assert not goal[name].holds
    assert judged([words(RECORDS.name, 1, 1.0), words(one, 1, 2.0)], [])[name].holds
    assert judged([words(RECORDS.name, 1), words(one, 1, 2.0)], [])[name].value is None


def test_what_was_not_measured_does_not_hold() -> None:
    assert not any(goal.holds or goal.value is not None for goal in judged([words(ONE.name, 1)], []).values())


def test_the_roles_of_the_peers_are_as_the_goals_take_them() -> None:
    assert (ONE.processes, TWO.processes > 1, MICRO.micro_batches) == (1, True, True)
