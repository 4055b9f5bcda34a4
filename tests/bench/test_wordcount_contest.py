"""Rounds, and who is left out for what, with contestants that count by themselves or fail."""

from io import StringIO
from pathlib import Path

import pytest

from bench.progress import Progress
from bench.wordcount.contest import Contest
from bench.wordcount.contestants import Contestant
from bench.wordcount.environments import Environment
from bench.wordcount.plan import Plan

PLAN = Plan(rounds=2, flood_s=0.0, rates_per_s=(1_000,), paced_s=0.05, patience_s=60.0, quick=False)
QUICK = Plan(rounds=1, flood_s=0.0, rates_per_s=(1_000,), paced_s=0.05, patience_s=60.0, quick=True)


def contestant(name: str, manner: str = "right", **more: object) -> Contestant:
    options = {"manner": manner}
    return Contestant(
        name=name,
        runner="tests.bench.wordcount_stub",
        processes=1,
        flood_options=options,
        paced_options=options,
        first_flood=100,
        warm_up_s=0.02,
        **more,  # type: ignore[arg-type]
    )


def contest(tmp_path: Path, *contestants: Contestant, plan: Plan = PLAN) -> Contest:
    return Contest(contestants, plan, tmp_path, Progress(StringIO()))


def test_everybody_is_measured_and_who_counts_wrong_is_left_out(tmp_path: Path) -> None:
    running = contest(tmp_path, contestant("honest"), contestant("wrong", "wrong"))
    assert [row.contestant for row in running.throughput()] == ["honest"]
    assert [(row.contestant, row.rate_per_s) for row in running.latency()] == [("honest", 1_000)]
    assert running.left_out["wrong"].startswith("failed unthrottled: wanted 1000 words, got 1001")


def test_an_unthrottled_run_grows_until_it_takes_long_enough(tmp_path: Path) -> None:
    plan = Plan(rounds=1, flood_s=0.05, rates_per_s=(), paced_s=0.0, patience_s=60.0, quick=False)
    running = contest(tmp_path, contestant("steady", "steady"), plan=plan)
    [row] = running.throughput()
    assert running._flood_sentences["steady"] == 1_600  # 10 ms and 40 ms were too short
    assert row.words_per_s.median == pytest.approx(100_000)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (contestant("slow", slow=True), "it is slow to start: only without --quick"),
        (
            contestant("missing", environment=Environment(name="missing", requirements=("nothing",))),
            "absent: only a run without --quick installs it",
        ),
    ],
)
def test_a_quick_run_leaves_out_the_slow_and_installs_nobody(tmp_path: Path, given: Contestant, reason: str) -> None:
    running = contest(tmp_path, given, plan=QUICK)
    assert running.left_out == {given.name: reason}
    assert running.throughput() == []
    assert running.latency() == []
    assert list(tmp_path.iterdir()) == []


def test_a_peer_that_needs_java_is_absent_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert contest(tmp_path, contestant("jvm", needs_java=True)).left_out == {"jvm": "absent: no java on the PATH"}


def test_a_peer_that_pip_refuses_is_absent_with_the_reason(tmp_path: Path) -> None:
    # Without an index nothing can be found, and nobody is asked.
    refused = Environment(name="refused", requirements=("--no-index", "penstock-no-such-package"))
    running = contest(tmp_path, contestant("refused", environment=refused))
    assert running.left_out["refused"].startswith("absent: pip does not install --no-index penstock-no-such-package")
    assert not refused.is_ready(tmp_path)


def test_an_environment_is_made_anew_when_its_requirements_change(tmp_path: Path) -> None:
    environment = Environment(name="empty", requirements=("--no-index", "pip"))
    environment.make(tmp_path)
    assert environment.is_ready(tmp_path)
    assert environment.python(tmp_path).exists()
    assert not Environment(name="empty", requirements=("--no-index", "pip>=1")).is_ready(tmp_path)
