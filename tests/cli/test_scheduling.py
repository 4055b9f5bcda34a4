"""Commands about load, schedules and schedulers, on stores and runs as they are."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from penstock.cli import scheduling as commands
from penstock.control.load_records import Choice
from penstock.control.load_store import LoadStore
from penstock.control.registry import RunDirectory
from penstock.control.scheduling_settings import SchedulingSettings
from tests.cli.conftest import Penstock
from tests.cli.published import published, working
from tests.control.planners import TOGETHER
from tests.control.stage import EDGES, PLAN, TASKS
from tests.control.test_schedule_generator import APART, LOAD, WORKERS

CHOICE = Choice(scheduler=TOGETHER, settings=SchedulingSettings(schedule_every_s=0.001, scheduling="external"))


def sampled(store: LoadStore, run: str = "run-1") -> None:
    now_s = time.time()
    store.put_sample(
        run,
        sample=LOAD,
        estimate=LOAD,
        tasks=TASKS,
        pinned={},
        workers=WORKERS,
        assignment=APART,
        history_s=3600.0,
        now_s=now_s,
    )


@pytest.fixture
def url() -> str:
    """The store of run-1, beside its run file, with one sample."""
    directory = RunDirectory.default()
    directory.path.mkdir(mode=0o700)
    url = directory.load_store_of("run-1")
    with LoadStore.open(url) as store:
        store.put_run("run-1", topology="wordcount", edges=EDGES, choice=CHOICE, now_s=time.time() - 100)
        sampled(store)
    return url


# ---- what is chosen


def test_another_scheduler_is_used(penstock: Penstock) -> None:
    plan = msgspec.structs.replace(PLAN, choice=Choice())
    with published(plan=plan) as run, working(run):
        told = penstock("use-scheduler", TOGETHER, "--set", "worker=0")
        assert told == (0, f"run run-1 (wordcount) is planned by {TOGETHER} from now on\n", "")
        assert run.server.status().scheduler == "together"
        assert penstock("tune", "--set", "load_alpha=0.25", "--set", "load_every_s=null")[0] == 0
        code, out, err = penstock("use-scheduler", "nonsense")
        assert (code, out) == (1, "")
        assert err.startswith("RunError: no scheduler is named 'nonsense'")
        code, out, err = penstock("tune", "--set", "load_alpha=often")
        assert (code, out) == (1, "")
        assert "wrong value" in err


# ---- plan


def test_plan_shows_what_would_be_done_and_does_nothing(penstock: Penstock, url: str) -> None:
    with published(load_store=url):
        code, out, err = penstock("plan", "--explain")
    assert (code, err) == (0, "")
    assert out.startswith(f"{TOGETHER}: would be proposed: a gain of")
    rows = [line.split() for line in out.splitlines()]
    assert ["tuples/s", "between", "nodes", "6,000", "→", "0"] in rows
    assert ["nodes", "in", "use", "2", "→", "1"] in rows
    assert "split[0]" in out
    with LoadStore.open(url) as store:
        assert store.schedules("run-1") == []


def test_plan_with_another_scheduler_and_apply(penstock: Penstock, url: str) -> None:
    command = ("plan", "--store", url, "--scheduler", TOGETHER, "--set", "worker=1", "--apply")
    code, out, err = penstock(*command)
    assert (code, err) == (0, "")
    assert f"{TOGETHER} (worker=1): " in out
    assert out.endswith("proposed as schedule 1: the driver of run run-1 takes it up within 10 s\n")
    with LoadStore.open(url) as store:
        (schedule,) = store.schedules("run-1")
    assert (schedule.status, schedule.worker_of) == ("proposed", dict.fromkeys(range(4), 1))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--scheduler", "nonsense"), "RunError: no scheduler is named 'nonsense'"),
        (("--scheduler", TOGETHER, "--set", "gamma=1"), "does not take {'gamma': 1}"),
        (("--set", "gamma=1"), "say which with --scheduler"),
        (("other",), "wanted a run named 'other': no such run in sqlite"),
    ],
)
def test_plan_that_makes_no_sense(penstock: Penstock, url: str, arguments: tuple[str, ...], complaint: str) -> None:
    code, out, err = penstock("plan", *arguments, "--store", url)
    assert (code, out) == (1, "")
    assert complaint in err


def test_plan_before_there_is_load(penstock: Penstock, url: str) -> None:
    with LoadStore.open(url) as store:
        store.put_run("run-2", topology="other", edges=EDGES, choice=CHOICE, now_s=time.time())
    code, _, err = penstock("plan", "run-2", "--store", url)
    assert code == 1
    assert "of run run-2 (other) no load was sampled yet: that is done every 20.0 s" in err
    with published("run-9", load_store=RunDirectory.default().load_store_of("run-9")):
        code, _, err = penstock("plan")
    assert code == 1
    assert "of run run-9 (wordcount) no load was sampled yet" in err


# ---- load


def test_load_of_a_run_that_is_over_is_there(penstock: Penstock, url: str) -> None:
    for arguments in ((), ("run-1",), ("wordcount",), ("--store", url)):
        code, out, err = penstock("load", *arguments)
        assert (code, err) == (0, "")
        assert "wordcount  run run-1  1 samples in 0 s" in out
        assert "between nodes" in out
    code, _, err = penstock("load", "other")
    assert code == 1
    assert "no such run" in err


def test_load_is_drawn_where_there_is_matplotlib(penstock: Penstock, url: str, tmp_path: Path) -> None:
    picture = tmp_path / "load.png"
    with LoadStore.open(url) as store:
        sampled(store)
    code, out, err = penstock("load", "--plot", str(picture))
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        assert (code, err) == (
            1,
            f"RunError: {picture} cannot be drawn: matplotlib is not installed (pip install matplotlib)\n",
        )
    else:
        assert (code, err) == (0, "")
        assert out.endswith(f"drawn into {picture}\n")
        assert picture.read_bytes().startswith(b"\x89PNG")


def test_load_tells_what_was_decided(penstock: Penstock, url: str) -> None:
    penstock("plan", "--store", url, "--apply")
    _, out, _ = penstock("load")
    assert f"{TOGETHER}  proposed  a gain of" in out


# ---- scheduler


def meanwhile(monkeypatch: pytest.MonkeyPatch, *acts: Any) -> None:
    """Each of these happens once, where the command would pause between two looks; then Ctrl-C."""
    rest = list(acts)

    def sleep(_: float) -> None:
        if not rest:
            raise KeyboardInterrupt
        rest.pop(0)()

    monkeypatch.setattr(commands, "time", SimpleNamespace(sleep=sleep, time=time.time))


def test_a_scheduler_elsewhere_plans_for_runs_that_want_it(
    penstock: Penstock, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with LoadStore.open(url) as store:
        own = msgspec.structs.replace(CHOICE, settings=SchedulingSettings())
        store.put_run("run-2", topology="plans-itself", edges=EDGES, choice=own, now_s=time.time())
        for _ in range(3):
            sampled(store, "run-2")
        meanwhile(
            monkeypatch, lambda: sampled(store), lambda: sampled(store), lambda: store.end_run("run-1", now_s=1.0)
        )
        code, out, err = penstock("scheduler", "--store", url)
        assert (code, err) == (0, "")
        told = [line for line in out.splitlines() if line.startswith("run ")]
        assert [line.split(":")[1] for line in told] == [" schedule 1 refused", " schedule 2 proposed"]
        assert all(line.startswith("run run-1 (wordcount)") for line in told)
        assert store.schedules("run-2") == []


def test_a_scheduler_elsewhere_waits_for_a_store_that_is_not_there(
    penstock: Penstock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "later"
    meanwhile(monkeypatch, folder.mkdir, lambda: None)
    code, out, err = penstock("scheduler", "--store", f"sqlite://{folder}/load.db")
    assert (code, err) == (0, "")
    assert out.count("cannot be opened") == 1
    assert (folder / "load.db").exists()
