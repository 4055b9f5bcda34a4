"""Rounds, failures and goals, with chains that only pretend."""

from io import StringIO

import pytest

from bench.overhead.chain import Chain, ChainError, Flooded, Latencies, Paced
from bench.overhead.contest import Contest
from bench.overhead.goals import Roles, overhead_goals
from bench.progress import Progress
from bench.rounds import interleaved

PACED = Paced(rate_per_s=1_000, count=4, warm_up=0)
ROLES = Roles(ours="ours", per_message="one", batched=["64", "256"], rings="rings")


class Pretended(Chain):
    def __init__(
        self, name: str, per_s: float = 1e6, latency_us: int = 100, cpu_us: float = 9.0, fails: str = ""
    ) -> None:
        self.name = name
        self._per_s, self._latency_us, self._cpu_us, self._fails = per_s, latency_us, cpu_us, fails

    def absence(self) -> str | None:
        return "not today" if self._fails == "absent" else None

    def flood(self, count: int) -> Flooded:
        if self._fails == "flood":
            message = "lost a tuple"
            raise ChainError(message)
        return Flooded(tuples=count, elapsed_s=count / self._per_s, cpu_us_per_tuple=self._cpu_us)

    def pace(self, paced: Paced) -> Latencies:
        if self._fails == "paced":
            message = "too slow"
            raise ChainError(message)
        latencies_ns = [self._latency_us * 1_000] * paced.count
        return Latencies(latencies_ns=latencies_ns, cpu_us_per_tuple=self._cpu_us)


def contest(*chains: Pretended) -> Contest:
    return Contest(chains, Progress(StringIO()))


def test_a_run_grows_until_it_takes_long_enough() -> None:
    [row] = contest(Pretended("a", per_s=2e6)).throughput(["a"], 1.0, rounds=2)
    assert row.tuples_per_s.median == pytest.approx(2e6)
    assert row.us_per_hop.median == pytest.approx(0.25)
    assert row.cpu_us_per_tuple.median == 9.0


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


def test_goals_compare_with_a_message_per_tuple_and_with_the_best_batches_and_bare_rings() -> None:
    chains = [
        Pretended("ours", 3e6, 60, cpu_us=150.0),
        Pretended("one", 1e6, 100),
        Pretended("64", 2e6),
        Pretended("256", 4e6),
    ]
    rings = Pretended("rings", latency_us=40)
    running = contest(*chains, rings)
    throughput = running.throughput([chain.name for chain in chains], 0.01, rounds=1)
    latency = running.latency(["ours", "one", "rings"], [PACED], rounds=1)
    goals = {goal.name: goal for goal in overhead_goals(ROLES, throughput, latency)}
    assert {name: goal.value for name, goal in goals.items()} == {
        "throughput_over_a_message_per_tuple": pytest.approx(3.0),
        "throughput_over_batches_by_hand": pytest.approx(0.75),
        "p50_over_a_message_per_tuple_at_1000_per_s": pytest.approx(0.6),
        "p99_over_a_message_per_tuple_at_1000_per_s": pytest.approx(0.6),
        "p50_over_two_raw_ring_hops_at_1000_per_s": pytest.approx(1.5),
        "cpu_us_per_tuple_and_worker_at_1000_per_s": pytest.approx(50.0),
    }
    assert [name for name, goal in goals.items() if goal.holds] == ["throughput_over_a_message_per_tuple"]


def test_goals_that_are_reached_hold() -> None:
    running = contest(Pretended("ours", 6e6, 50, cpu_us=120.0), Pretended("one"), Pretended("256", 5e6))
    throughput = running.throughput(["ours", "one", "256"], 0.01, rounds=1)
    latency = running.latency(["ours", "one"], [PACED], rounds=1)
    goals = {goal.name: goal for goal in overhead_goals(ROLES, throughput, latency)}
    assert [name for name, goal in goals.items() if not goal.holds] == ["p50_over_two_raw_ring_hops_at_1000_per_s"]
    assert goals["p50_over_two_raw_ring_hops_at_1000_per_s"].value is None


def test_in_each_round_another_one_goes_first() -> None:
    order = interleaved(Progress(StringIO()), "stage", ["a", "b", "c"], [1, 2], rounds=2)
    assert "".join(name for name, _ in order) == "abcabc" + "bcabca"
