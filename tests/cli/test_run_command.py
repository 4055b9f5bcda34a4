"""`penstock run`: what it asks for, what it shows, and how it ends."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from penstock.cli.loading import load_topology
from penstock.control.prometheus import prometheus_text
from penstock.spark.handle import Run
from tests.cli.conftest import Penstock
from tests.cli.files import FACTORY, READY, write
from tests.cli.staged_run import StagedRun, Theatre


@pytest.fixture
def file(tmp_path: Path) -> str:
    return write(tmp_path, "users_topology.py", READY)


def test_a_run_is_watched_to_its_end(penstock: Penstock, monkeypatch: pytest.MonkeyPatch, file: str) -> None:
    theatre = Theatre(monkeypatch, turn=StagedRun.works)
    code, out, err = penstock("run", file)

    assert code == 0
    assert err == ""
    assert theatre.sessions == [{"master": None, "workers": 2}]
    assert theatre.starts == [
        {
            "workers": 2,
            "min_workers": None,
            "spark": "the session",
            "scheduler": "even",
            "delivery": "at_least_once",
            "checkpoint": None,
        }
    ]
    assert theatre.runs[0].was_left
    # Where nobody watches, only the last picture is shown, and no codes for a terminal.
    assert out.count("wordcount  ended") == 1
    assert "\x1b" not in out
    assert "1,234" in out


def test_what_was_collected_is_shown_as_it_is(penstock: Penstock, monkeypatch: pytest.MonkeyPatch, file: str) -> None:
    Theatre(monkeypatch, turns=1, turn=StagedRun.works)
    _, out, _ = penstock("run", file)

    assert "last collected 3 tuples, the last ones:\n  ('the', 3)\n  ('[bold]fox[/bold]', 1)\n  (':smile:', 2)\n" in out


def test_the_end_is_a_summary_with_the_first_traceback_of_each_failure(
    penstock: Penstock, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    Theatre(monkeypatch, turns=1, turn=StagedRun.works)
    _, out, _ = penstock("run", file)

    assert "count: 1 × ValueError, the first time:\nTraceback" in out
    assert "  words[0]\nValueError: [/] is no word\n" in out
    assert out.splitlines()[-1].startswith("wordcount ended after 0.0 s; lines 1,234, ")
    assert out.splitlines()[-1].endswith("; 1 tuples failed")


def test_nothing_collected(penstock: Penstock, monkeypatch: pytest.MonkeyPatch, file: str) -> None:
    Theatre(monkeypatch)

    assert "last collected 0 tuples\n" in penstock("run", file)[1]


def test_arguments_reach_spark(penstock: Penstock, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    theatre = Theatre(monkeypatch)
    factory = write(tmp_path, "users_factory.py", FACTORY)
    code, _, err = penstock(
        *("run", f"{factory}:topology", "--workers", "4", "--min-workers", "3", "--master", "local[9]"),
        *("--scheduler", "even", "--set", "limit=5", "--set=label=a=b"),
    )

    assert (code, err) == (0, "")
    assert theatre.sessions == [{"master": "local[9]", "workers": 4}]
    assert theatre.starts == [
        {
            "workers": 4,
            "min_workers": 3,
            "spark": "the session",
            "scheduler": "even",
            "delivery": "at_least_once",
            "checkpoint": None,
        }
    ]
    assert theatre.runs[0].topology.name == "made"


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (["--workers", "0"], 2, "--workers"),
        (["--workers", "many"], 2, "--workers"),
        (["--min-workers", "0"], 2, "--min-workers"),
        (["--min-workers", "3"], 1, "--min-workers 3 is more than --workers 2"),
        (["--scheduler", "odd"], 2, "no scheduler is named 'odd'; there are: even"),
        (["--set", "limit"], 1, "--set wants NAME=VALUE, got 'limit'"),
        (["--set", "limit=1"], 1, "--set needs a function that makes the topology"),
        (["--wrokers", "2"], 2, "--wrokers"),
    ],
)
def test_what_is_wrong_is_said_before_spark_is_started(
    penstock: Penstock, monkeypatch: pytest.MonkeyPatch, file: str, arguments: list[str], code: int, complaint: str
) -> None:
    theatre = Theatre(monkeypatch)
    ended, out, err = penstock("run", file, *arguments)

    assert ended == code
    assert complaint in " ".join(err.replace("│", " ").split())
    assert "Traceback" not in err
    assert out == ""
    assert theatre.sessions == []


def test_a_topology_that_cannot_run_is_refused_before_spark_is_started(
    penstock: Penstock, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    theatre = Theatre(monkeypatch)
    lonely = write(
        tmp_path,
        "lonely.py",
        "import penstock as ps\ntopo = ps.Topology('lonely')\ntopo.bolt('alone', ps.Collect())\n",
    )
    code, _, err = penstock("run", lonely)

    assert code == 1
    assert err.startswith("TopologyError: ")
    assert "alone" in err
    assert theatre.sessions == []


def test_an_error_is_shown_as_it_is_and_not_broken(penstock: Penstock, tmp_path: Path) -> None:
    place = "[red]" + "long" * 30
    file = write(tmp_path, "raises.py", f"raise OSError('{place} [/b] :smile:')\n")
    code, _, err = penstock("run", file)

    assert code == 1
    assert f"OSError: {place} [/b] :smile:\n" in err
    assert err.startswith(f"TopologyError: {file} could not be loaded:\n")


def test_without_a_file_the_command_says_what_it_wants(penstock: Penstock) -> None:
    code, _, err = penstock("run")

    assert code == 2
    assert "TARGET" in err


def test_a_run_that_fails(penstock: Penstock, monkeypatch: pytest.MonkeyPatch, file: str) -> None:
    theatre = Theatre(monkeypatch, turn=StagedRun.fails)
    code, out, err = penstock("run", file)

    assert code == 1
    assert "wordcount  failed" in out  # the last picture
    assert err.startswith("RunError: worker 0 on host-0 ")
    assert err.endswith("KeyError: key [/b] is not there\n")
    assert "cli/main.py" not in err
    assert theatre.runs[0].was_left


def interrupts(_: StagedRun) -> None:
    raise KeyboardInterrupt


def test_ctrl_c_stops_the_run(penstock: Penstock, monkeypatch: pytest.MonkeyPatch, file: str) -> None:
    theatre = Theatre(monkeypatch, turn=interrupts)
    code, out, err = penstock("run", file)

    assert code == 130
    assert "stopping …\n" in out
    assert out.count("wordcount  ended") == 1
    assert out.splitlines()[-1].startswith("wordcount ended after ")
    assert err == ""
    assert theatre.runs[0].was_left


def test_ctrl_c_once_more_does_not_wait(penstock: Penstock, monkeypatch: pytest.MonkeyPatch, file: str) -> None:
    theatre = Theatre(monkeypatch, turn=interrupts)
    monkeypatch.setattr(StagedRun, "stop", interrupts)
    code, _, err = penstock("run", file)

    assert code == 130
    assert err == ""
    assert theatre.runs[0].was_left


def test_a_run_that_fails_while_it_is_stopped(penstock: Penstock, monkeypatch: pytest.MonkeyPatch, file: str) -> None:
    def fails(run: StagedRun) -> None:
        run.fails()
        run.summary()

    Theatre(monkeypatch, turn=interrupts)
    monkeypatch.setattr(StagedRun, "stop", fails)
    code, out, err = penstock("run", file)

    assert code == 1
    assert "wordcount  failed" in out
    assert "KeyError: key [/b] is not there" in err


def test_the_handle_gives_the_text_that_metrics_prints(file: str) -> None:
    staged = StagedRun(load_topology(file, {}))
    staged.works()

    assert Run.prometheus(cast("Run", staged)) == prometheus_text(staged.status(), staged.metrics())
    assert 'penstock_task_emitted_tuples_total{component="lines",run="run-1"' in Run.prometheus(cast("Run", staged))
