"""The driver's hand on the store: threads, databases and generators as they are; the controller is the test."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.control.events import Proposed
from penstock.control.load_keeper import LoadKeeper
from penstock.control.load_keeping import kept_load
from penstock.control.load_records import Choice, ScheduleRecord
from penstock.control.load_store import LoadStore
from penstock.control.scheduling import Declined, KeepChoice, KeepLoad, ScheduleOutcome, StoreTrouble
from penstock.control.scheduling_settings import SchedulingSettings
from penstock.errors import LoadStoreError
from tests.control.planners import TOGETHER
from tests.control.stage import PLAN
from tests.control.test_schedule_generator import APART, LOAD, WORKERS
from tests.ring.patience import wait_until

ORDER = KeepLoad(sample=LOAD, estimate=LOAD, tasks=PLAN.tasks, workers=WORKERS, assignment=APART)
# So that what the tests wait for is not the period.
OFTEN = SchedulingSettings(schedule_every_s=0.01, fetch_every_s=0.01)
PROPOSAL = ScheduleRecord(at_s=0.0, assignment=1, scheduler="mine", worker_of={0: 1}, reason="closer")


class Kept:
    def __init__(self, url: str, keeper: LoadKeeper, posted: list[Any]) -> None:
        self.url = url
        self.keeper = keeper
        self.posted = posted

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.posted if isinstance(event, kind)]

    def samples(self) -> int:
        with contextlib.suppress(Exception), LoadStore.open(self.url, create=False) as store:
            return store.newest_sample(PLAN.run)
        return 0


@contextlib.contextmanager
def keeping(url: str, choice: Choice | None = None) -> Iterator[Kept]:
    posted: list[Any] = []
    plan = msgspec.structs.replace(PLAN, choice=choice or Choice(settings=OFTEN), pinned={0: "it gathers"})
    with kept_load(plan, url, post=posted.append) as keeper:
        assert keeper is not None
        yield Kept(url, keeper, posted)


def test_a_run_that_is_over_before_the_first_sample_leaves_no_trace(tmp_path: Path) -> None:
    with keeping(f"sqlite://{tmp_path}/load.db"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_what_is_to_be_kept_is_kept_and_stays(store_url: str) -> None:
    with keeping(store_url) as kept:
        kept.keeper.keep(ORDER)
        kept.keeper.keep(ORDER)
        wait_until(lambda: kept.samples() == 2, "two samples")
        kept.keeper.keep(KeepChoice(choice=Choice(scheduler="even")))
    with LoadStore.open(store_url, create=False) as store:
        situation = store.situation(PLAN.run)
    assert situation.run.topology == "wordcount"
    assert situation.run.ended_at_s is not None
    assert situation.pinned == {0: "it gathers"}
    assert situation.choice.scheduler == "even"
    assert kept.posted == []


def test_what_somebody_proposes_is_fetched_once_and_its_end_entered(store_url: str) -> None:
    with keeping(store_url) as kept, LoadStore.open(store_url) as store:
        kept.keeper.keep(ORDER)
        wait_until(lambda: kept.samples() == 1, "a sample")
        store.propose(PLAN.run, msgspec.structs.replace(PROPOSAL, status="refused", reason="too little"))
        wait_until(lambda: bool(kept.of(Declined)), "the verdict")
        number = store.propose(PLAN.run, PROPOSAL)
        wait_until(lambda: bool(kept.of(Proposed)), "the proposal")
        kept.keeper.keep(ScheduleOutcome(schedule=number, status="applied"))
        wait_until(lambda: store.schedules(PLAN.run)[-1].status == "applied", "its end")
    assert kept.of(Declined) == [Declined(scheduler="mine", why="too little")]
    assert kept.of(Proposed) == [
        Proposed(worker_of={0: 1}, scheduler="mine", why="closer", assignment=1, schedule=2),
    ]


def test_the_driver_s_own_generator_plans_when_a_scheduler_is_chosen(tmp_path: Path) -> None:
    with keeping(f"sqlite://{tmp_path}/load.db") as kept:
        for _ in range(3):
            kept.keeper.keep(ORDER)
        wait_until(lambda: kept.samples() == 3, "samples")
        kept.keeper.keep(KeepChoice(choice=Choice(scheduler=TOGETHER, settings=OFTEN)))
        wait_until(lambda: bool(kept.of(Declined)), "that it is better once")
        kept.keeper.keep(ORDER)
        wait_until(lambda: bool(kept.of(Proposed)), "that it is better twice")
    assert kept.of(Proposed)[0].worker_of == {0: 0, 1: 0, 2: 0, 3: 0}


def test_where_another_one_plans_the_driver_does_not(tmp_path: Path) -> None:
    elsewhere = msgspec.structs.replace(OFTEN, scheduling="external")
    with keeping(f"sqlite://{tmp_path}/load.db", Choice(scheduler=TOGETHER, settings=elsewhere)) as kept:
        for _ in range(3):
            kept.keeper.keep(ORDER)
        wait_until(lambda: kept.samples() == 3, "samples")
    assert kept.posted == []


# ---- trouble


def test_a_store_out_of_reach_is_told_once_and_used_when_it_is_there(tmp_path: Path) -> None:
    folder = tmp_path / "later"
    with keeping(f"sqlite://{folder}/load.db") as kept:
        for _ in range(3):
            kept.keeper.keep(ORDER)
        kept.keeper.keep(KeepChoice(choice=Choice(scheduler="even", settings=OFTEN)))
        kept.keeper.keep(ScheduleOutcome(schedule=1, status="applied"))
        wait_until(lambda: bool(kept.posted), "trouble")
        folder.mkdir()
        kept.keeper.keep(ORDER)
        wait_until(lambda: kept.samples() >= 1, "a sample")
    assert [type(event) for event in kept.posted] == [StoreTrouble]
    assert "cannot be opened" in kept.posted[0].error
    with LoadStore.open(kept.url, create=False) as store:
        assert store.choice(PLAN.run).scheduler == "even"


def test_a_file_that_somebody_broke_or_locks_does_not_end_anything(tmp_path: Path) -> None:
    path = tmp_path / "load.db"
    path.write_bytes(b"this is no database" * 1000)
    with keeping(f"sqlite://{path}") as kept:
        kept.keeper.keep(ORDER)
        wait_until(lambda: bool(kept.posted), "trouble")
        path.unlink()
        kept.keeper.keep(ORDER)
        wait_until(lambda: kept.samples() == 1, "a sample")
        with contextlib.closing(sqlite3.connect(path)) as vandal:
            for table in ("samples", "task_samples", "pair_samples"):
                vandal.execute(f"DROP TABLE {table}")
            vandal.commit()
        kept.keeper.keep(ORDER)
        wait_until(lambda: len(kept.posted) == 2, "trouble again")
        kept.keeper.keep(ORDER)
        wait_until(lambda: kept.samples() == 1, "tables made anew")


def test_a_full_disk_is_a_notice(small_disk: Path) -> None:
    filler = small_disk / "filler"
    with keeping(f"sqlite://{small_disk}/load.db") as kept:
        kept.keeper.keep(ORDER)
        wait_until(lambda: kept.samples() == 1, "a sample")
        with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
            while file.write(bytes(4096)):
                pass
        pairs = {(0, source, 1): rate for source in range(500) for rate in LOAD.pairs.values()}
        kept.keeper.keep(msgspec.structs.replace(ORDER, sample=msgspec.structs.replace(LOAD, pairs=pairs)))
        wait_until(lambda: bool(kept.of(StoreTrouble)), "trouble")
        filler.unlink()
        kept.keeper.keep(ORDER)
        wait_until(lambda: kept.samples() == 2, "a sample when there is room again")


def test_what_piled_up_while_the_store_was_out_of_reach_is_not_tried_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []

    def refuses(url: str, *, create: bool = True) -> LoadStore:  # noqa: ARG001
        tried.append(url)
        wait_until(lambda: len(tried) > 1 or piled_up.is_set(), "others wait")
        message = "out of reach"
        raise LoadStoreError(message)

    piled_up = threading.Event()
    monkeypatch.setattr(LoadStore, "open", refuses)
    with keeping(f"sqlite://{tmp_path}/load.db") as kept:
        for number in range(100):
            kept.keeper.keep(ORDER)
            kept.keeper.keep(KeepChoice(choice=Choice()))
            kept.keeper.keep(ScheduleOutcome(schedule=number, status="applied"))
        piled_up.set()
    assert len(tried) == 1
    assert len(kept.posted) == 1
