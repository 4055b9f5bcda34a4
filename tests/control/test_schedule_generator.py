"""A generator between two stores' ends: what is in the store decides when it plans, and what it proposes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from penstock.control.load_records import Choice, ScheduleRecord, WorkerRecord
from penstock.control.load_sample import LoadSample, PairRate, TaskShare
from penstock.control.load_store import LoadStore
from penstock.control.schedule_generator import Generator
from penstock.control.scheduling_settings import SchedulingSettings
from penstock.plan.assignment import Assignment
from tests.control.planners import TOGETHER
from tests.control.stage import EDGES, TASKS

SETTINGS = SchedulingSettings(schedule_every_s=60.0)
# Everything crosses nodes, and a placement on one worker would end that.
APART = Assignment(number=1, worker_of={0: 0, 1: 1, 2: 0, 3: 1})
WORKERS = (
    WorkerRecord(worker=0, node="node-a", host="host-a", cores=4, cpu_share=0.2),
    WorkerRecord(worker=1, node="node-b", host="host-b", cores=4, cpu_share=0.2),
)
LOAD = LoadSample(
    tasks={task.id: TaskShare(cpu=0.05, busy=0.1) for task in TASKS},
    pairs={
        (0, 0, 1): PairRate(tuples=1000, bytes=100_000),
        (0, 0, 2): PairRate(tuples=1000, bytes=100_000),
        (1, 1, 3): PairRate(tuples=5000, bytes=100_000),
        (1, 2, 3): PairRate(tuples=5000, bytes=100_000),
    },
    workers={0: 0.2, 1: 0.2},
)


class Planned:
    """A run in a store, and its generator; time passes when the test says so."""

    def __init__(self, store: LoadStore, choice: Choice) -> None:
        self.store = store
        self.now_s = 10_000.0
        self.generator = Generator(store, "run-1")
        store.put_run("run-1", topology="wordcount", edges=EDGES, choice=choice, now_s=self.now_s)

    def sampled(self, *, after_s: float = 20.0, **changed: Any) -> ScheduleRecord | None:
        """Load is sampled once more, and the generator looks."""
        self.now_s += after_s
        given: dict[str, Any] = {
            "sample": LOAD,
            "estimate": LOAD,
            "tasks": TASKS,
            "pinned": {},
            "workers": WORKERS,
            "assignment": APART,
            "history_s": 3600.0,
        }
        self.store.put_sample("run-1", **(given | changed), now_s=self.now_s)
        return self.generator.look(self.now_s)

    def choose(self, choice: Choice) -> None:
        self.store.put_choice("run-1", choice, now_s=self.now_s)

    def statuses(self) -> list[str]:
        return [schedule.status for schedule in self.store.schedules("run-1")]


@pytest.fixture
def store(store_url: str) -> Any:
    with LoadStore.open(store_url) as opened:
        yield opened


def test_what_is_better_for_two_periods_is_proposed_with_the_reason(store: LoadStore) -> None:
    run = Planned(store, Choice(scheduler=TOGETHER, settings=SETTINGS))
    assert run.sampled() is None  # the first sample has the start of the run in it
    held = run.sampled()
    assert held is not None
    assert held.status == "refused"
    assert "next period" in held.reason
    assert run.generator.rest_s(run.now_s + 1) == 59
    assert [run.sampled(), run.sampled()] == [None, None]  # 60 s are not over
    made = run.sampled()

    assert made is not None
    (_, kept) = store.schedules("run-1")
    assert kept == made
    assert (made.status, made.scheduler, made.assignment) == ("proposed", TOGETHER, 1)
    assert made.worker_of == {0: 0, 1: 0, 2: 0, 3: 0}
    assert made.before is not None
    assert made.after is not None
    assert made.before.tuples_per_s.between_nodes == 6000
    assert made.after.tuples_per_s.between_nodes == 0
    assert "split[0] moves from worker 1" in made.words
    assert "gain" in made.reason


def test_as_long_as_a_schedule_is_not_decided_no_other_is_made(store: LoadStore) -> None:
    run = Planned(store, Choice(scheduler=TOGETHER, settings=SETTINGS))
    run.sampled()
    run.sampled()
    assert run.sampled(after_s=60) is not None
    assert run.sampled(after_s=60) is None
    assert run.statuses() == ["refused", "proposed"]
    store.decide("run-1", 2, status="refused", reason="not now", now_s=run.now_s)
    assert run.sampled(after_s=60) is not None


def test_with_overload_it_plans_at_each_sample_and_does_not_wait_for_another(store: LoadStore) -> None:
    run = Planned(store, Choice(scheduler=TOGETHER, parameters={"worker": 1}, settings=SETTINGS))
    crowded = Assignment(number=1, worker_of=dict.fromkeys(range(4), 0))
    hot = LoadSample(tasks={task.id: TaskShare(cpu=0.24, busy=0.3) for task in TASKS}, pairs=LOAD.pairs)
    fast = msgspec.structs.replace(WORKERS[1], speed=2.0)
    workers = (msgspec.structs.replace(WORKERS[0], cpu_share=0.96), fast)
    run.sampled(estimate=hot, workers=workers, assignment=crowded)
    made = run.sampled(after_s=1, estimate=hot, workers=workers, assignment=crowded)
    assert made is not None
    assert made.status == "proposed"
    assert "overload" in made.reason


def test_a_node_whose_workers_take_all_its_cores_is_overloaded_though_no_worker_is(store: LoadStore) -> None:
    run = Planned(store, Choice(scheduler=TOGETHER, settings=SETTINGS))
    run.sampled()
    run.sampled()
    on_one = [msgspec.structs.replace(one, node="node-a", host="host-a", cores=1, cpu_share=0.5) for one in WORKERS]
    assert run.sampled(after_s=1) is None  # not due
    assert run.sampled(after_s=1, workers=on_one) is not None


def test_another_choice_is_planned_by_at_once(store: LoadStore) -> None:
    run = Planned(store, Choice(settings=SETTINGS))
    assert [run.sampled(), run.sampled(), run.sampled(after_s=600)] == [None, None, None]  # nobody chose anything
    run.choose(Choice(scheduler=TOGETHER, settings=SETTINGS))
    first = run.generator.look(run.now_s)
    assert first is not None
    run.choose(Choice(scheduler=TOGETHER, parameters={"worker": 1}, settings=SETTINGS))
    second = run.generator.look(run.now_s)
    assert second is not None
    assert (first.worker_of[0], second.worker_of[0]) == (0, 1)
    tuned = msgspec.structs.replace(SETTINGS, gain_threshold=0.5)
    run.choose(Choice(scheduler=TOGETHER, parameters={"worker": 1}, settings=tuned))
    assert run.generator.look(run.now_s) is None  # that is no other plan


def test_a_gain_below_the_threshold_is_refused(store: LoadStore) -> None:
    mostly_near = LoadSample(
        tasks=LOAD.tasks,
        pairs={(0, 0, 2): PairRate(tuples=10_000, bytes=1e6), (1, 1, 3): PairRate(tuples=1, bytes=100)},
    )
    workers = [msgspec.structs.replace(one, cpu_share=0.0) for one in WORKERS]
    run = Planned(store, Choice(scheduler=TOGETHER, settings=SETTINGS))
    run.sampled(estimate=mostly_near, workers=workers)
    made = run.sampled(estimate=mostly_near, workers=workers)
    assert made is not None
    assert made.status == "refused"
    assert "not more than 10%" in made.reason


def test_pinned_tasks_stay(store: LoadStore) -> None:
    run = Planned(store, Choice(scheduler=TOGETHER, settings=SETTINGS))
    run.sampled(pinned={3: "it gathers"})
    made = run.sampled(pinned={3: "it gathers"})
    assert made is not None
    assert made.worker_of == {0: 0, 1: 0, 2: 0, 3: 1}


def test_while_a_worker_is_being_restarted_nothing_is_planned(store: LoadStore) -> None:
    run = Planned(store, Choice(scheduler=TOGETHER, settings=SETTINGS))
    assert [run.sampled(workers=WORKERS[:1]), run.sampled(workers=WORKERS[:1])] == [None, None]
    assert run.statuses() == []


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("tests.control.planners:Failing", "ZeroDivisionError: no place for 4 tasks"),
        ("tests.control.planners:Nowhere", "has no such class"),
        ("nonsense", "no scheduler is named 'nonsense'"),
    ],
)
def test_a_scheduler_that_cannot_plan_is_told_and_harms_nobody(store: LoadStore, name: str, complaint: str) -> None:
    run = Planned(store, Choice(scheduler=name, settings=SETTINGS))
    run.sampled()
    made = run.sampled()
    assert made is not None
    assert made.status == "refused"
    assert complaint in made.reason
    assert made.worker_of == APART.worker_of


def test_what_stays_as_it_is_is_not_entered(store: LoadStore) -> None:
    run = Planned(store, Choice(scheduler=TOGETHER, settings=SETTINGS))
    together = Assignment(number=2, worker_of=dict.fromkeys(range(4), 0))
    assert [run.sampled(assignment=together), run.sampled(assignment=together)] == [None, None]
    assert run.statuses() == []


def test_a_task_that_moved_lately_is_not_moved_back_for_a_little(store: LoadStore) -> None:
    run = Planned(store, Choice(scheduler=TOGETHER, settings=SETTINGS))
    run.sampled(assignment=Assignment(number=1, worker_of=dict.fromkeys(range(4), 0)))
    moved = Assignment(number=2, worker_of={0: 0, 1: 0, 2: 0, 3: 1})
    # Only a little speaks for moving it back: 15 % of the traffic.
    load = LoadSample(
        tasks=LOAD.tasks,
        pairs={(0, 0, 1): PairRate(tuples=1, bytes=1e6), (1, 1, 3): PairRate(tuples=1, bytes=1e5)},
    )
    run.sampled(assignment=moved, estimate=load)
    made = [run.sampled(after_s=61, assignment=moved, estimate=load) for _ in range(3)]
    assert "proposed" in [one.status for one in made if one is not None]  # a gain of all that crosses nodes is enough
