"""Commands that ask a run which another process drives."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import SimpleNamespace

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from penstock.cli import main as commands
from penstock.control.admin import AdminClient
from penstock.control.instructions import Finish
from penstock.control.protocol import Drain, Ended, Left, Stop
from penstock.control.registry import RunDirectory
from penstock.control.status import Phase
from penstock.errors import RunError
from tests.cli.conftest import Penstock
from tests.cli.published import file_of, published, working
from tests.control.troupe import Played, Troupe, troupe

ASKING = ["status", "top", "metrics", "stop", "drain"]


def leaves(run: Troupe, played: Played) -> None:
    """The worker does as it is told, and the run ends."""
    played.hears(Stop)
    played.client.send(Left())
    assert isinstance(run.server.wait(60), Finish)


def test_no_runs(penstock: Penstock) -> None:
    assert penstock("list") == (0, "no runs\n", "")


@pytest.mark.parametrize("command", ASKING)
def test_without_a_run_there_is_nobody_to_ask(penstock: Penstock, command: str) -> None:
    complaint = "RunError: wanted a run: no such run; runs of this user on this machine: none\n"

    assert penstock(command) == (1, "", complaint)


@pytest.mark.parametrize("command", ASKING)
def test_a_run_that_is_not_there_is_named_with_those_that_are(penstock: Penstock, command: str) -> None:
    with published():
        code, out, err = penstock(command, "other")

    assert (code, out) == (1, "")
    assert err == (
        "RunError: wanted a run named 'other': no such run; runs of this user on this machine: run-1 (wordcount)\n"
    )


@pytest.mark.parametrize("command", ASKING)
def test_of_two_runs_one_has_to_be_named(penstock: Penstock, command: str) -> None:
    with published("aa1"), published("ab2"):
        for name in ((), ("wordcount",), ("a",)):
            code, out, err = penstock(command, *name)

            assert (code, out) == (1, "")
            assert "more than one matches; runs of this user on this machine: aa1 (wordcount), ab2 (wordcount)" in err


def test_two_runs_are_listed(penstock: Penstock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "LIST_PATIENCE_S", 100.0)
    with published("aa1") as first, published("ab2", topology="[b]logs[/b]"), working(first):
        code, out, err = penstock("list")

    assert (code, err) == (0, "")
    heading, _, *rows = [[cell.strip() for cell in re.split("[│┃]", line)] for line in out.splitlines()]
    assert heading == ["run", "topology", "phase", "seconds", "workers"]
    assert [row[:3] for row in rows] == [["aa1", "wordcount", "running"], ["ab2", "[b]logs[/b]", "starting"]]
    assert [row[4] for row in rows] == ["1", "1"]


def test_a_run_that_does_not_answer_does_not_hide_the_others(
    penstock: Penstock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "LIST_PATIENCE_S", 0.05)
    with troupe() as gone:
        files = [msgspec.structs.replace(file_of(gone, run), host=f"at-{run}") for run in ("aa1", "ab2")]
    for file in files:
        RunDirectory.default().publish(file)
    code, out, err = penstock("list")

    assert (code, err) == (0, "")
    first, second = out.splitlines()[2:]
    assert "aa1" in first
    assert "no answer from at-aa1" in first
    assert "ab2" in second
    assert "no answer from at-ab2" in second


def test_a_run_is_chosen_by_id_by_its_beginning_or_by_topology(penstock: Penstock) -> None:
    for name in ("ab2", "ab", "logs"):
        with published("aa1"), published("ab2", topology="logs"):
            assert penstock("stop", name) == (0, "run ab2 (logs) was told to stop\n", "")


def test_status_is_shown_once(penstock: Penstock) -> None:
    with published() as run, working(run):
        code, out, err = penstock("status")

    assert (code, err) == (0, "")
    assert out.startswith("wordcount  running  ")
    assert "1/1 workers on 1 node" in out
    assert "4,321" in out
    assert "\x1b" not in out


def test_status_before_a_worker_has_come(penstock: Penstock) -> None:
    with published():
        _, out, _ = penstock("status")

    assert out.startswith("wordcount  starting  0.0 s  0/1 workers\n")


def test_metrics_are_what_prometheus_reads_and_nothing_else(penstock: Penstock) -> None:
    with published() as run, working(run):
        code, out, err = penstock("metrics")

    assert (code, err) == (0, "")
    families = {family.name: family for family in text_string_to_metric_families(out)}
    processed = {sample.labels["task"]: sample.value for sample in families["penstock_task_processed_tuples"].samples}
    assert processed == {"0": 4321, "1": 0, "2": 0, "3": 7}


def test_stop_ends_a_run(penstock: Penstock) -> None:
    with published() as run, working(run) as played:
        assert penstock("stop") == (0, "run run-1 (wordcount) was told to stop\n", "")
        leaves(run, played)
        code, out, err = penstock("stop")

    assert (code, out) == (1, "")
    assert "has ended already" in err


def test_drain_ends_a_run_in_good_order(penstock: Penstock) -> None:
    with published() as run, working(run) as played:
        assert penstock("drain") == (0, "run run-1 (wordcount) was told to drain\n", "")
        played.hears(Drain)
        played.client.send(Ended(assignment=1))
        leaves(run, played)


# ---- watching


def happens_meanwhile(monkeypatch: pytest.MonkeyPatch, *acts: Callable[[], None]) -> None:
    """Each of these happens once, where `top` would pause between two pictures."""
    rest = list(acts)
    monkeypatch.setattr(commands, "time", SimpleNamespace(sleep=lambda _: rest.pop(0)()))


def test_top_ends_with_the_run(penstock: Penstock, monkeypatch: pytest.MonkeyPatch) -> None:
    with published() as run, working(run) as played:

        def ends() -> None:
            run.server.stop()
            leaves(run, played)

        happens_meanwhile(monkeypatch, lambda: None, ends)
        code, out, err = penstock("top")

    assert (code, err) == (0, "")
    assert out.startswith("wordcount  ended")
    assert out.count("component") == 1  # where nobody watches, only the last picture is shown
    assert out.endswith("run run-1 (wordcount) is over\n")


def test_top_ends_when_the_driver_has_gone_on(penstock: Penstock, monkeypatch: pytest.MonkeyPatch) -> None:
    with published() as run, working(run):

        def goes() -> None:
            RunDirectory.default().withdraw("run-1")
            run.server.close()

        happens_meanwhile(monkeypatch, goes)
        code, out, err = penstock("top")

    assert (code, err) == (0, "")
    assert out.startswith("wordcount  running")
    assert out.endswith("run run-1 (wordcount) is over\n")


@pytest.mark.parametrize("withdrawn", [True, False])
def test_top_tells_a_run_that_ended_while_it_was_asked_from_one_that_hangs(
    penstock: Penstock, monkeypatch: pytest.MonkeyPatch, withdrawn: bool
) -> None:
    def no_answer(_: AdminClient) -> None:
        if withdrawn:
            RunDirectory.default().withdraw("run-1")
        message = "the run did not answer"
        raise RunError(message)

    with published() as run, working(run):
        monkeypatch.setattr(AdminClient, "status", no_answer)
        code, out, err = penstock("top")

    if withdrawn:
        assert (code, out, err) == (0, "run run-1 (wordcount) is over\n", "")
    else:
        assert (code, err) == (1, "RunError: the run did not answer\n")


def test_ctrl_c_ends_the_watching_and_not_the_run(penstock: Penstock, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupts() -> None:
        raise KeyboardInterrupt

    with published() as run, working(run):
        happens_meanwhile(monkeypatch, interrupts)
        code, out, err = penstock("top")
        phase = run.server.status().phase

    assert (code, err) == (0, "")
    assert out.startswith("wordcount  running")
    assert phase is Phase.RUNNING
