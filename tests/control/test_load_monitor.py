"""From totals to samples and estimates: what moves, restarts or falls silent must not disturb them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.control.load_monitor import LoadMonitor
from penstock.control.load_sample import LoadSample, PairRate
from penstock.control.metrics import PairCounts, TaskCounts
from penstock.control.protocol import Report
from tests.control.stage import EDGES

PERIOD_S = 20.0
TASKS = (0, 1, 2, 3)
# A worker that never says anything: so it does not matter where they are.
NOWHERE = dict.fromkeys(TASKS, 99)


def report(
    at_s: float,
    busy_s: Mapping[int, float],
    *,
    cpu_s: float = 0.0,
    pairs: Mapping[tuple[int, int, int], tuple[int, int]] | None = None,
) -> Report:
    """Totals of a worker: busy seconds by task, and (tuples, bytes) by pair."""
    return Report(
        at_ns=round(at_s * 1e9),
        cpu_ns=round(cpu_s * 1e9),
        tasks=tuple(TaskCounts(task=task, busy_ns=round(busy * 1e9)) for task, busy in busy_s.items()),
        pairs=tuple(
            PairCounts(edge=edge, source=source, target=target, tuples=tuples, bytes=size)
            for (edge, source, target), (tuples, size) in (pairs or {}).items()
        ),
    )


class Watched:
    """A monitor whose clock the test moves."""

    def __init__(self, alpha: float = 0.5) -> None:
        self.monitor = LoadMonitor(EDGES)
        self.alpha = alpha
        self.worker_of = {0: 0, 1: 0, 2: 1, 3: 1}
        self.now_s = 0.0
        assert self._sample() is None

    def _sample(self) -> LoadSample | None:
        return self.monitor.sample_if_due(self.now_s, every_s=PERIOD_S, alpha=self.alpha, worker_of=self.worker_of)

    def period(self) -> LoadSample:
        """The sample at the end of a period."""
        self.now_s += PERIOD_S
        sample = self._sample()
        assert sample is not None
        return sample


def test_a_sample_is_made_once_a_period() -> None:
    monitor = LoadMonitor(EDGES)
    due = [
        monitor.sample_if_due(now_s, every_s=20.0, alpha=0.5, worker_of=NOWHERE) is not None
        for now_s in (100.0, 110.0, 119.9, 120.0, 121.0, 139.0, 140.0)
    ]
    assert due == [False, False, False, True, False, False, True]


def test_a_period_can_be_changed_and_load_left_alone() -> None:
    monitor = LoadMonitor(EDGES)
    assert monitor.sample_if_due(0.0, every_s=20.0, alpha=0.5, worker_of=NOWHERE) is None
    assert monitor.sample_if_due(5.0, every_s=5.0, alpha=0.5, worker_of=NOWHERE) is not None
    assert monitor.sample_if_due(1000.0, every_s=None, alpha=0.5, worker_of=NOWHERE) is None
    assert (
        monitor.sample_if_due(1001.0, every_s=5.0, alpha=0.5, worker_of=NOWHERE) is None
    )  # counts from when it is on again


def test_a_worker_s_cpu_time_is_shared_out_by_busy_time() -> None:
    watched = Watched()
    watched.monitor.report(0, 1, report(1000, {0: 5.0, 1: 5.0}, cpu_s=3.0))
    watched.monitor.report(0, 1, report(1020, {0: 20.0, 1: 10.0}, cpu_s=13.0))
    sample = watched.period()
    assert sample.workers == {0: pytest.approx(0.5)}
    assert sample.tasks[0].busy == pytest.approx(0.75)
    assert sample.tasks[0].cpu == pytest.approx(0.375)
    assert sample.tasks[1].cpu == pytest.approx(0.125)


def test_the_first_sample_counts_whole_and_the_next_by_one_minus_alpha() -> None:
    watched = Watched(alpha=0.75)
    busy_s, cpu_s = 0.0, 0.0
    estimates = []
    watched.monitor.report(0, 1, report(0, {0: 0.0}))
    for turn, share in enumerate([0.8, 0.4, 0.4], start=1):
        busy_s, cpu_s = busy_s + share * PERIOD_S, cpu_s + share * PERIOD_S
        watched.monitor.report(0, 1, report(turn * PERIOD_S, {0: busy_s}, cpu_s=cpu_s))
        watched.period()
        estimates.append(watched.monitor.estimate.tasks[0].cpu)
    assert estimates == pytest.approx([0.8, 0.7, 0.625])


@pytest.mark.parametrize("counts_travel", [True, False])
def test_a_task_that_moves_has_one_share_whether_its_counts_travel_or_begin_anew(counts_travel: bool) -> None:
    watched = Watched()
    pair = (1, 1, 3)
    # Half busy all the time, 100 tuples a second; at 10 s it goes from worker 0 to worker 1.
    for at_s in range(11):
        watched.monitor.report(0, 1, report(at_s, {0: 0.0, 1: at_s / 2}, cpu_s=at_s / 2, pairs={pair: (100 * at_s, 0)}))
        watched.monitor.report(1, 1, report(500 + at_s, {2: 0.0}))
    for at_s in range(11, 21):
        moved_s = at_s if counts_travel else at_s - 10
        watched.monitor.report(0, 1, report(at_s, {0: 0.0}, cpu_s=5.0))
        watched.monitor.report(
            1, 1, report(500 + at_s, {1: moved_s / 2, 2: 0.0}, cpu_s=(at_s - 10) / 2, pairs={pair: (100 * moved_s, 0)})
        )
    sample = watched.period()
    assert sample.tasks[1].busy == pytest.approx(0.5)
    assert sample.tasks[1].cpu == pytest.approx(0.5)
    assert sample.pairs[pair].tuples == pytest.approx(100)


def test_a_place_that_still_speaks_of_a_task_that_left_does_not_halve_its_share() -> None:
    watched = Watched()
    for at_s in range(21):
        watched.monitor.report(0, 1, report(at_s, {1: 7.0}))
        watched.monitor.report(1, 1, report(at_s, {1: at_s / 2}, cpu_s=at_s / 2))
    assert watched.period().tasks[1].busy == pytest.approx(0.5)


def test_a_place_that_a_task_has_left_does_not_speak_for_one_that_is_not_heard_of() -> None:
    watched = Watched()
    watched.worker_of = {1: 1}
    pair = (1, 1, 3)
    watched.monitor.report(1, 1, report(0, {1: 0.0}))
    watched.monitor.report(1, 1, report(20, {1: 10.0}, cpu_s=10, pairs={pair: (200, 0)}))
    watched.worker_of = {1: 1, 3: 1}
    watched.period()
    before = watched.monitor.estimate
    assert before.tasks[1].busy == pytest.approx(0.5)
    for at_s in (0, 10, 20):
        watched.monitor.report(0, 1, report(at_s, {1: 7.0}, cpu_s=at_s, pairs={pair: (900, 0)}))
    assert watched.period().tasks == {}
    assert watched.monitor.estimate.tasks == before.tasks
    assert watched.monitor.estimate.pairs == before.pairs


def test_a_worker_that_was_restarted_counts_from_its_first_report() -> None:
    watched = Watched()
    for at_s in range(11):
        watched.monitor.report(0, 1, report(at_s, {0: 900 + at_s / 4}, cpu_s=900 + at_s / 4))
    for at_s in range(15, 21):
        watched.monitor.report(0, 2, report(7000 + at_s, {0: at_s / 4}, cpu_s=at_s / 4))
    sample = watched.period()
    assert sample.tasks[0].busy == pytest.approx(0.25)
    assert sample.workers[0] == pytest.approx(0.25)


def test_who_is_not_heard_of_keeps_the_estimate_and_who_is_gone_for_good_does_not() -> None:
    watched = Watched()
    watched.monitor.report(0, 1, report(0, {0: 0.0, 9: 0.0}, pairs={(0, 0, 1): (0, 0)}))
    watched.monitor.report(0, 1, report(20, {0: 10.0, 9: 10.0}, cpu_s=20, pairs={(0, 0, 1): (200, 0)}))
    watched.period()
    before = watched.monitor.estimate
    assert before.tasks.keys() == {0}  # the run has no task 9
    assert watched.period() == LoadSample()
    assert watched.monitor.estimate.tasks == before.tasks
    assert watched.monitor.estimate.pairs == before.pairs
    assert watched.monitor.sample_if_due(100.0, every_s=PERIOD_S, alpha=0.5, worker_of={1: 0}) is not None
    assert watched.monitor.estimate == LoadSample()


def test_traffic_that_ceases_dies_away_and_is_forgotten() -> None:
    watched = Watched()
    pair = (0, 0, 1)
    for turn in range(40):
        tuples = 2000 if turn else 0
        watched.monitor.report(0, 1, report(turn * PERIOD_S, {0: 0.0}, pairs={pair: (tuples, 0)}))
        watched.period()
        if turn in (1, 2, 3):
            assert watched.monitor.estimate.pairs[pair].tuples == pytest.approx(200 / 2**turn)
    assert watched.monitor.estimate.pairs == {}


def test_a_way_that_was_laid_anew_is_not_negative() -> None:
    watched = Watched()
    watched.monitor.report(0, 1, report(0, {0: 0.0}, pairs={(0, 0, 1): (10_000, 70_000)}))
    watched.monitor.report(0, 1, report(20, {0: 0.0}, pairs={(0, 0, 1): (400, 2_800)}))
    assert watched.period().pairs == {(0, 0, 1): PairRate(tuples=20, bytes=140)}


# ---- bytes within a worker


def test_tuples_within_a_worker_are_as_large_as_those_of_the_edge_that_leave_it() -> None:
    watched = Watched()
    watched.monitor.report(0, 1, report(0, {0: 0.0}))
    watched.monitor.report(0, 1, report(20, {0: 0.0}, pairs={(0, 0, 1): (200, 0), (0, 0, 2): (100, 3_000)}))
    assert watched.period().pairs[0, 0, 1] == PairRate(tuples=10, bytes=300)
    # Nothing leaves any more: what was last known counts.
    watched.monitor.report(0, 1, report(40, {0: 0.0}, pairs={(0, 0, 1): (400, 0), (0, 0, 2): (100, 3_000)}))
    assert watched.period().pairs[0, 0, 1] == PairRate(tuples=10, bytes=300)


def test_an_edge_of_which_nothing_leaves_is_taken_for_like_the_others_or_else_for_middling() -> None:
    watched = Watched()
    watched.monitor.report(0, 1, report(0, {0: 0.0}))
    watched.monitor.report(0, 1, report(20, {0: 0.0}, pairs={(0, 0, 1): (200, 0)}))
    assert watched.period().pairs[0, 0, 1].bytes == pytest.approx(1_000)
    watched.monitor.report(0, 1, report(40, {0: 0.0}, pairs={(0, 0, 1): (400, 0), (1, 1, 3): (10, 70)}))
    assert watched.period().pairs[0, 0, 1].bytes == pytest.approx(70)


# ---- whatever happens


turns = st.lists(
    st.tuples(
        st.integers(0, 2),  # worker
        st.integers(0, 1),  # whether it is another process
        st.sets(st.sampled_from(TASKS)),  # what it runs now
        st.integers(0, 3_000_000_000),  # how long since its last report, and so at most busy
        st.booleans(),  # whether counts begin anew
    ),
    max_size=40,
)


@given(turns, st.floats(0, 0.99))
def test_shares_are_never_negative_nor_above_one_core_per_worker(
    happened: list[tuple[int, int, set[int], int, bool]], alpha: float
) -> None:
    watched = Watched(alpha)
    at_ns = dict.fromkeys(range(3), 0)
    busy_ns: dict[tuple[int, int], int] = {}
    generation = dict.fromkeys(range(3), 1)
    for number, (worker, restarts, tasks, elapsed_ns, anew) in enumerate(happened):
        generation[worker] += restarts
        at_ns[worker] += elapsed_ns
        for task in tasks:
            known = 0 if anew else busy_ns.get((worker, task), 0)
            busy_ns[worker, task] = known + elapsed_ns // len(tasks)
        counts = tuple(TaskCounts(task=task, busy_ns=busy_ns[worker, task]) for task in sorted(tasks))
        pairs = tuple(PairCounts(edge=0, source=task, target=1, tuples=busy_ns[worker, task] // 1000) for task in tasks)
        told = Report(at_ns=at_ns[worker], cpu_ns=at_ns[worker], tasks=counts, pairs=pairs)
        watched.monitor.report(worker, generation[worker], told)
        if number % 5 == 4:
            sample = watched.period()
            for share in (*sample.tasks.values(), *watched.monitor.estimate.tasks.values()):
                assert 0 <= share.busy <= 3.001
                assert 0 <= share.cpu <= 3.001
            assert all(0 <= share <= 1.001 for share in sample.workers.values())
            assert all(rate.tuples > 0 and rate.bytes > 0 for rate in watched.monitor.estimate.pairs.values())
