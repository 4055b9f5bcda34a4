"""The load store: the same tests for each database."""

from __future__ import annotations

import stat
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.control.load_records import Choice, ScheduleRecord, WorkerRecord
from penstock.control.load_sample import LoadSample, PairRate, TaskShare
from penstock.control.load_store import LoadStore
from penstock.control.scheduling_settings import SchedulingSettings
from penstock.errors import LoadStoreError
from penstock.plan.assignment import Assignment
from penstock.plan.predicted import Predicted, Volume
from tests.control.stage import EDGES, TASKS

CHOICE = Choice(
    scheduler="t-storm",
    parameters={"gamma": 1.7},
    settings=SchedulingSettings(load_alpha=0.25, store="postgresql://a:b@c/d"),
)
SAMPLE = LoadSample(
    tasks={0: TaskShare(cpu=0.5, busy=0.75), 3: TaskShare(cpu=0.125, busy=0.25)},
    pairs={(0, 0, 1): PairRate(tuples=100.5, bytes=2e9), (1, 1, 3): PairRate(tuples=1e-3, bytes=0.25)},
    workers={0: 0.6, 1: 0.25},
)
ESTIMATE = msgspec.structs.replace(SAMPLE, tasks={0: TaskShare(cpu=0.375, busy=0.5)})
WORKERS = (
    WorkerRecord(worker=0, node="node-a", host="host-a", cores=4, cpu_share=0.6),
    WorkerRecord(worker=1, node="node-b", host="host-b", speed=0.5, cores=8, cpu_share=0.25),
)
ASSIGNMENT = Assignment(number=7, worker_of={0: 0, 1: 0, 2: 1, 3: 1})
PREDICTED = Predicted(
    tuples_per_s=Volume(within_workers=1.0, between_workers=2.0, between_nodes=3.5),
    bytes_per_s=Volume(within_workers=10.0, between_workers=20.0, between_nodes=35.0),
    busiest_worker=1,
    busiest_worker_share=0.5,
    busiest_node="node-a",
    busiest_node_share=0.25,
    workers_used=2,
    nodes_used=2,
    traffic_measured=True,
    load_measured=True,
)
SCHEDULE = ScheduleRecord(
    at_s=1100.5,
    assignment=7,
    scheduler="turbo",
    parameters={"online": True},
    worker_of={0: 1, 1: 1, 2: 1, 3: 1},
    before=PREDICTED,
    words="count[0] moves:\n“closer”",
)


def put_run(store: LoadStore, run: str = "run-1", *, now_s: float = 1000.0, choice: Choice = CHOICE) -> None:
    store.put_run(run, topology="wordcount", edges=EDGES, choice=choice, now_s=now_s)


def put_sample(store: LoadStore, run: str = "run-1", **changed: Any) -> None:
    given: dict[str, Any] = {
        "sample": SAMPLE,
        "estimate": ESTIMATE,
        "tasks": TASKS,
        "pinned": {0: "it is fed by Spark"},
        "workers": WORKERS,
        "assignment": ASSIGNMENT,
        "history_s": 3600.0,
        "now_s": 1020.0,
    }
    store.put_sample(run, **(given | changed))


def test_a_run_as_it_was_entered(store_url: str) -> None:
    with LoadStore.open(store_url) as store:
        put_run(store)
        put_sample(store)
    with LoadStore.open(store_url, create=False) as store:
        situation = store.situation("run-1")
        (run,) = store.runs()

    assert (run.run, run.topology, run.started_at_s, run.heard_at_s, run.ended_at_s) == (
        "run-1",
        "wordcount",
        1000.0,
        1020.0,
        None,
    )
    assert situation.run == run
    assert situation.sample == 1
    assert situation.tasks == TASKS
    assert situation.edges == EDGES
    assert situation.pinned == {0: "it is fed by Spark"}
    assert situation.workers == WORKERS
    assert situation.assignment == ASSIGNMENT
    assert situation.estimate == ESTIMATE
    # A password has no place in a table.
    without = msgspec.structs.replace(CHOICE.settings, store=None)
    assert situation.choice == msgspec.structs.replace(CHOICE, settings=without)


def test_before_the_first_sample_nothing_is_known_but_the_choice(store_url: str) -> None:
    with LoadStore.open(store_url) as store:
        put_run(store)
        situation = store.situation("run-1")

    assert (situation.sample, situation.tasks, situation.workers, situation.assignment) == (0, (), (), None)
    assert situation.choice.scheduler == "t-storm"


def test_samples_become_history_and_the_last_is_how_it_stands(store_url: str) -> None:
    later = LoadSample(tasks={1: TaskShare(cpu=0.25, busy=0.25)})
    moved = Assignment(number=8, worker_of={1: 1})
    with LoadStore.open(store_url) as store:
        put_run(store)
        put_sample(store)
        put_sample(
            store, sample=later, estimate=later, tasks=TASKS[1:2], pinned={}, workers=(), assignment=moved, now_s=1040
        )
        situation = store.situation("run-1")
        history = store.history("run-1")
        assignments = store.assignments("run-1")
        newest = store.history("run-1", most=1)

    assert situation.sample == 2
    assert (situation.tasks, situation.workers, situation.pinned) == (TASKS[1:2], (), {})
    assert situation.assignment == moved
    assert situation.estimate == later
    assert [(point.at_s, point.assignment) for point in history] == [(1020.0, 7), (1040.0, 8)]
    assert history[0].sample == msgspec.structs.replace(SAMPLE, workers={})
    assert history[1].sample == later
    assert newest == history[1:]
    assert assignments == {7: ASSIGNMENT, 8: moved}


def test_history_is_pruned_by_age_and_by_number(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with LoadStore.open(store_url) as store:
        put_run(store)
        for number in range(6):
            put_sample(store, now_s=1000.0 + 100 * number, history_s=250)
        assert [point.at_s for point in store.history("run-1")] == [1300.0, 1400.0, 1500.0]
        monkeypatch.setattr("penstock.control.load_store._MOST_ROWS", 10)  # a sample is five rows
        put_sample(store, now_s=1501.0)
        assert [point.at_s for point in store.history("run-1")] == [1500.0, 1501.0]
        assert store.newest_sample("run-1") == 7


def test_runs_do_not_see_each_other_and_what_is_long_over_is_forgotten(store_url: str) -> None:
    month_s = 31 * 86_400.0
    with LoadStore.open(store_url) as store:
        for run in ("old", "new"):
            put_run(store, run)
            put_sample(store, run)
            store.propose(run, SCHEDULE)
        put_sample(store, "new", now_s=1020.0 + month_s)
        store.end_run("new", now_s=1030.0 + month_s)
        put_run(store, "third", now_s=1100.0 + month_s)

        assert [(run.run, run.ended_at_s) for run in store.runs()] == [("new", 1030.0 + month_s), ("third", None)]
        assert store.situation("new").sample == 2
        assert store.situation("third").sample == 0
        assert [store.schedules(run) == [] for run in ("old", "new", "third")] == [True, False, True]
        with pytest.raises(LoadStoreError, match="has no run 'old'"):
            store.situation("old")


def test_a_run_that_is_entered_again_begins_anew(store_url: str) -> None:
    with LoadStore.open(store_url) as store:
        put_run(store)
        put_sample(store)
        put_run(store, now_s=2000.0)
        assert store.situation("run-1").sample == 0
        assert store.assignments("run-1") == {}


def test_the_choice_is_replaced(store_url: str) -> None:
    other = Choice(scheduler="mine:Best", parameters={"a": [1, 2], "b": True, "c": "text"})
    with LoadStore.open(store_url) as store:
        put_run(store)
        put_run(store, "run-2")
        store.put_choice("run-1", other, now_s=1001.0)
        assert store.choice("run-1") == other
        assert store.choice("run-2").scheduler == "t-storm"


def test_schedules_are_numbered_and_decided(store_url: str) -> None:
    with LoadStore.open(store_url) as store:
        put_run(store)
        first = store.propose("run-1", SCHEDULE)
        refused = store.propose("run-1", msgspec.structs.replace(SCHEDULE, status="refused", reason="too little"))
        assert store.schedules("run-1")[0].status == "proposed"  # what was never proposed replaces nothing
        second = store.propose("run-1", msgspec.structs.replace(SCHEDULE, at_s=1200.0))
        store.decide("run-1", second, status="applied", reason="", now_s=1210.0)
        found = store.schedules("run-1")

        assert (first, refused, second) == (1, 2, 3)
        assert [(one.number, one.status, one.reason) for one in found] == [
            (1, "superseded", "schedule 3 was made since"),
            (2, "refused", "too little"),
            (3, "applied", ""),
        ]
        assert [one.decided_at_s for one in found] == [1200.0, None, 1210.0]
        assert found[2] == msgspec.structs.replace(
            SCHEDULE, number=3, at_s=1200.0, status="applied", decided_at_s=1210.0
        )
        assert store.schedules("run-1", after=1) == found[1:]
        assert store.schedules("run-1", most=1) == found[2:]


def test_those_who_propose_at_the_same_time_get_numbers_of_their_own(store_url: str) -> None:
    numbers: list[int] = []
    with LoadStore.open(store_url) as store:
        put_run(store)

    def proposes() -> None:
        with LoadStore.open(store_url) as mine:
            for _ in range(10):
                numbers.append(mine.propose("run-1", SCHEDULE))

    threads = [threading.Thread(target=proposes) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(numbers) == list(range(1, 31))


def test_a_sample_is_there_whole_or_not_at_all(store_url: str) -> None:
    broken = LoadSample(pairs={(0, 0, 1): PairRate(tuples="many", bytes=object())})  # type: ignore[arg-type]
    with LoadStore.open(store_url) as store:
        put_run(store)
        put_sample(store)
        with pytest.raises(LoadStoreError):
            put_sample(store, sample=broken, now_s=5000.0)
    with LoadStore.open(store_url) as store:
        assert store.situation("run-1").sample == 1
        assert store.situation("run-1").run.heard_at_s == 1020.0


def test_a_store_of_another_version_is_refused(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with LoadStore.open(store_url):
        pass
    monkeypatch.setattr("penstock.control.load_store.VERSION", 2)
    with pytest.raises(LoadStoreError, match="has version 1, and this Penstock wants 2"):
        LoadStore.open(store_url)


def test_what_somebody_else_wrote_is_told(store_url: str) -> None:
    with LoadStore.open(store_url) as store:
        put_run(store)
        store._database.execute("UPDATE settings SET choice = 'nonsense'")
        with pytest.raises(LoadStoreError, match="holds what cannot be read"):
            store.choice("run-1")


# ---- places


def test_a_file_is_the_user_s_alone(tmp_path: Path) -> None:
    path = tmp_path / "a b%.db"
    with LoadStore.open(f"sqlite://{tmp_path}/a%20b%25.db"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("mysql://host/name", "a load store is sqlite:///path or postgresql://…, got 'mysql://host/name'"),
        ("sqlite://relative.db", "sqlite:///absolute/path"),
        ("sqlite:///no/such/folder/load.db", "cannot be opened"),
        ("postgresql://me:secret@localhost:1/none", r"the load store at postgresql://localhost:1/none failed"),
    ],
)
def test_a_place_that_is_none(url: str, complaint: str) -> None:
    if url.startswith("postgresql"):
        pytest.importorskip("psycopg")
    with pytest.raises(LoadStoreError, match=complaint) as raised:
        LoadStore.open(url)
    assert "secret" not in str(raised.value)


def test_without_psycopg_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    with pytest.raises(LoadStoreError, match=r"pip install 'penstock\[postgres\]'"):
        LoadStore.open("postgresql://localhost/none")


def test_who_only_reads_makes_no_file(tmp_path: Path) -> None:
    with pytest.raises(LoadStoreError, match="there is no load store at"):
        LoadStore.open(f"sqlite://{tmp_path}/load.db", create=False)
    assert list(tmp_path.iterdir()) == []
