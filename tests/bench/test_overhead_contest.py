"""Rounds, failures and goals, with chains that only pretend."""

from io import StringIO

import pytest

from bench.overhead.chain import Chain, ChainError, Paced
from bench.overhead.contest import Contest
from bench.overhead.goals import overhead_goals
from bench.progress import Progress
from bench.rounds import interleaved

PACED = Paced(rate_per_s=1_000, count=4, warm_up=0)


class Pretended(Chain):
    def __init__(self, name: str, per_s: float = 1e6, latency_us: int = 100, fails: str = "") -> None:
        self.name = name
        self._per_s, self._latency_us, self._fails = per_s, latency_us, fails

    def absence(self) -> str | None:
        return "not today" if self._fails == "absent" else None

    def flood_s(self, count: int) -> float:
        if self._fails == "flood":
            message = "lost a tuple"
            raise ChainError(message)
        return count / self._per_s

    def latencies_ns(self, paced: Paced) -> list[int]:
        if self._fails == "paced":
            message = "too slow"
            raise ChainError(message)
        return [self._latency_us * 1_000] * paced.count


def contest(*chains: Pretended) -> Contest:
    return Contest(chains, Progress(StringIO()))


def test_a_run_grows_until_it_takes_long_enough() -> None:
    [row] = contest(Pretended("a", per_s=2e6)).throughput(["a"], 1.0, rounds=2)
    assert row.tuples_per_s.median == pytest.approx(2e6)
    assert row.us_per_hop.median == pytest.approx(0.25)


def test_who_fails_or_is_absent_is_left_out_with_the_reason() -> None:
    names = ["absent", "flood", "paced", "good"]
    running = contest(*(Pretended(name, fails=name) for name in names))
    assert [row.chain for row in running.throughput(names, 0.01, rounds=2)] == ["paced", "good"]
    assert [row.chain for row in running.latency(names, [PACED], rounds=2)] == ["good"]
    assert running.left_out == {
        "absent": "absent: not today",
        "flood": "failed unthrottled: lost a tuple",
        "paced": "failed at 1,000 tuples/s: too slow",
    }


def test_goals_compare_with_a_message_per_tuple_and_with_the_best_batches() -> None:
    chains = [Pretended("ours", 3e6, 60), Pretended("one", 1e6, 100), Pretended("64", 2e6), Pretended("256", 4e6)]
    running = contest(*chains)
    throughput = running.throughput([chain.name for chain in chains], 0.01, rounds=1)
    latency = running.latency(["ours", "one"], [PACED], rounds=1)
    goals = {goal.name: goal for goal in overhead_goals("ours", "one", ["64", "256"], throughput, latency)}
    assert {name: goal.value for name, goal in goals.items()} == {
        "throughput_over_a_message_per_tuple": pytest.approx(3.0),
        "throughput_over_batches_by_hand": pytest.approx(0.75),
        "p50_over_a_message_per_tuple_at_1000_per_s": pytest.approx(0.6),
        "p99_over_a_message_per_tuple_at_1000_per_s": pytest.approx(0.6),
    }
    assert [goal.holds for goal in goals.values()] == [True, False, True, True]


def test_in_each_round_another_one_goes_first() -> None:
    order = interleaved(Progress(StringIO()), "stage", ["a", "b", "c"], [1, 2], rounds=2)
    assert "".join(name for name, _ in order) == "abcabc" + "bcabca"
