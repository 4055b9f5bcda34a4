"""The verdict of the gate: what slips, what passes, and that noise is neither."""

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.gate.plan import CPU, FULL, LATENCIES, RATES, SHORT, Plan
from bench.gate.policy import Judgement, Metric, Verdict, interval, judge, slowdowns

LATENCY = Metric(name="latency", more_is_better=False, limit=1.05)
RATE = Metric(name="rate", more_is_better=True, limit=1.05)

values = st.floats(min_value=0.01, max_value=1e6)
samples = st.lists(st.tuples(values, values), min_size=1, max_size=16)


def measured(rng: random.Random, rounds: int, slowdown: float, noise: float) -> tuple[list[float], list[float]]:
    """Latencies of two sides: a machine that drifts under both, noise of each sample, and now and then a wild one."""
    base: list[float] = []
    candidate: list[float] = []
    machine = 100.0
    for _ in range(rounds):
        machine *= rng.lognormvariate(0, 0.05)
        for side, factor in ((base, 1.0), (candidate, slowdown)):
            wild = rng.uniform(1.2, 2.0) if rng.random() < 0.05 else 1.0
            side.append(machine * factor * wild * rng.lognormvariate(0, noise))
    return base, candidate


def decided(metric: Metric, base: Sequence[float], candidate: Sequence[float], plan: Plan) -> Judgement:
    """As the gate goes about it: more rounds while it is open."""
    for rounds in range(plan.rounds, plan.most_rounds + 1):
        judgement = judge(metric, base[:rounds], candidate[:rounds], last=rounds == plan.most_rounds)
        if judgement.verdict is not Verdict.OPEN:
            return judgement
    raise AssertionError


def slips(plan: Plan, metric: Metric, slowdown: float, noise: float, runs: int = 60) -> float:
    """Which part of the runs says that it slipped."""
    found = 0
    for run in range(runs):
        base, candidate = measured(random.Random(run), plan.most_rounds, slowdown, noise)
        found += decided(metric, base, candidate, plan).verdict is Verdict.SLIP
    return found / runs


# Two samples of one side differ by about 2 to 4 % on a quiet machine.
@given(noise=st.floats(min_value=0.0, max_value=0.04))
def test_a_slowdown_of_10_percent_is_caught_at_5(noise: float) -> None:
    assert slips(FULL, LATENCY, 1.10, noise) >= 0.9


@given(noise=st.floats(min_value=0.0, max_value=0.04))
def test_no_slowdown_passes(noise: float) -> None:
    assert slips(FULL, LATENCY, 1.0, noise) <= 0.02
    assert slips(FULL, LATENCY, 0.9, noise) == 0


@given(noise=st.floats(min_value=0.0, max_value=0.15))
def test_on_a_noisy_machine_the_short_form_lets_nothing_pass_that_is_far_out_and_stops_nothing_else(
    noise: float,
) -> None:
    cpu, wall = SHORT.metric(CPU[0]), SHORT.metric(LATENCIES[0])
    assert slips(SHORT, cpu, 1.6, noise) >= 0.9
    assert slips(SHORT, cpu, 1.0, noise) <= 0.04
    assert slips(SHORT, wall, 1.3, noise) == 0
    assert slips(SHORT, wall, 3.0, noise) >= 0.9


@given(st.floats(min_value=0.5, max_value=2.0), st.integers(min_value=1, max_value=15), st.booleans())
def test_without_noise_it_is_the_slowdown_alone_that_decides(slowdown: float, rounds: int, last: bool) -> None:
    judgement = judge(LATENCY, [10.0] * rounds, [10.0 * slowdown] * rounds, last=last)
    assert judgement.slowdown == pytest.approx(slowdown)
    if abs(slowdown - LATENCY.limit) > 1e-9:
        assert judgement.verdict is (Verdict.SLIP if slowdown > LATENCY.limit else Verdict.CLEAR)


@given(samples)
def test_more_tuples_per_second_is_as_good_as_less_time(pairs: list[tuple[float, float]]) -> None:
    base, candidate = [base for base, _ in pairs], [candidate for _, candidate in pairs]
    inverted = [1 / value for value in base], [1 / value for value in candidate]
    assert slowdowns(RATE, base, candidate) == pytest.approx(slowdowns(LATENCY, *inverted))


@given(samples)
def test_the_interval_is_around_the_estimate_within_the_extremes_and_mirrored_when_sides_are_swapped(
    pairs: list[tuple[float, float]],
) -> None:
    ratios = [candidate / base for base, candidate in pairs]
    low, estimate, high = interval(ratios)
    # Rounding of logarithms: a millionth.
    assert min(ratios) * (1 - 1e-6) <= low <= estimate * (1 + 1e-6)
    assert estimate * (1 - 1e-6) <= high <= max(ratios) * (1 + 1e-6)
    mirrored = interval([1 / ratio for ratio in ratios])
    assert mirrored == pytest.approx((1 / high, 1 / estimate, 1 / low))


@given(samples, st.randoms())
def test_neither_the_order_of_rounds_nor_the_unit_matters(pairs: list[tuple[float, float]], rng: random.Random) -> None:
    other = [(base * 8, candidate * 8) for base, candidate in pairs]
    rng.shuffle(other)
    one, two = (interval([candidate / base for base, candidate in each]) for each in (pairs, other))
    assert one == pytest.approx(two)


@given(samples, st.floats(min_value=1.0, max_value=3.0))
def test_who_becomes_slower_is_never_judged_better(pairs: list[tuple[float, float]], worse: float) -> None:
    base, candidate = [base for base, _ in pairs], [candidate for _, candidate in pairs]
    before = judge(LATENCY, base, candidate, last=True)
    after = judge(LATENCY, base, [value * worse for value in candidate], last=True)
    assert not (before.verdict is Verdict.SLIP and after.verdict is Verdict.CLEAR)


def test_two_wild_rounds_of_fifteen_decide_nothing() -> None:
    assert judge(LATENCY, [10.0] * 15, [10.0] * 13 + [100.0] * 2, last=True).verdict is Verdict.CLEAR
    assert judge(LATENCY, [10.0] * 15, [12.0] * 13 + [1.0] * 2, last=True).verdict is Verdict.SLIP


def test_what_is_not_clear_stays_open_until_the_last_round() -> None:
    base, candidate = [10.0] * 5, [9.0, 11.0, 12.0, 13.0, 14.0]
    assert judge(LATENCY, base, candidate, last=False).verdict is Verdict.OPEN
    assert judge(LATENCY, base, candidate, last=True).verdict is Verdict.CLEAR  # one round was no slower at all
    assert judge(LATENCY, base, [10.1, *candidate[1:]], last=False).verdict is Verdict.OPEN
    assert judge(LATENCY, base, [10.1, *candidate[1:]], last=True).verdict is Verdict.SLIP


# How many of the averages in order are left out at each end for an error of 5 % at most: Wilcoxon's table.
@pytest.mark.parametrize(("rounds", "left_out"), [(4, 0), (5, 0), (6, 2), (7, 3), (8, 5), (10, 10), (15, 30)])
def test_the_interval_is_that_of_wilcoxons_table(rounds: int, left_out: int) -> None:
    ratios = [2.0**number for number in range(rounds)]
    exponents = sorted((one + other) / 2 for one in range(rounds) for other in range(one, rounds))
    low, _, high = interval(ratios)
    assert low == pytest.approx(2 ** exponents[left_out])
    assert high == pytest.approx(2 ** exponents[-1 - left_out])


def test_every_metric_has_a_bound() -> None:
    assert {FULL.metric(name).limit for name in CPU + RATES + LATENCIES} == {1.05}
    assert {SHORT.metric(name).limit for name in CPU} == {1.2}
    assert [SHORT.metric(name).more_is_better for name in (CPU[0], RATES[0], LATENCIES[0])] == [False, True, False]
    with pytest.raises(ValueError, match="no metric is called 'nonsense'"):
        FULL.metric("nonsense")
