"""The gate around its policy: rounds, the process of a side, what it compares with, and how it is built."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.cpu import session_members
from bench.gate import __main__ as gate
from bench.gate import build
from bench.gate.build import GateError
from bench.gate.plan import FULL, SHORT, Plan
from bench.gate.policy import Verdict
from bench.gate.side import Side
from bench.history import GitError, History
from tests.bench.test_results import commit, git, tree

__all__ = ["tree"]  # a fixture

CPU, RATE = "overhead_cpu_us_per_tuple", "overhead_tuples_per_s"


@pytest.fixture
def side(tmp_path: Path) -> Callable[[], Side]:
    return lambda: Side("candidate", Path(sys.executable), tmp_path / "log", module="tests.bench.gate_stub")


class Measuring:
    """Gives what each side takes, in turn, and remembers who was asked."""

    def __init__(self, **cpu_us: list[float]) -> None:
        self.asked = ""
        self._cpu_us = {side: iter(values) for side, values in cpu_us.items()}

    def __call__(self, side: str) -> dict[str, float]:
        self.asked += side
        value = next(self._cpu_us[side])
        return {CPU: value, RATE: 1e6 / value}


def compared(measuring: Measuring, plan: Plan) -> tuple[dict[str, Verdict], int]:
    judgements, samples = gate.compare("a", "b", [measuring], plan)
    assert samples["base"].keys() == samples["candidate"].keys() == {CPU, RATE}
    return {each.metric.name: each.verdict for each in judgements}, len(samples["base"][CPU])


def test_sides_take_turns_in_going_first() -> None:
    measuring = Measuring(a=[10.0] * 5, b=[10.0] * 5)
    assert compared(measuring, FULL) == ({CPU: Verdict.CLEAR, RATE: Verdict.CLEAR}, FULL.rounds)
    assert measuring.asked == "abbaabbaab"


def test_a_slower_candidate_slips_and_a_slower_base_does_not() -> None:
    slower = compared(Measuring(a=[10.0] * 5, b=[12.0] * 5), FULL)
    assert slower == ({CPU: Verdict.SLIP, RATE: Verdict.SLIP}, FULL.rounds)
    faster = compared(Measuring(a=[12.0] * 5, b=[10.0] * 5), FULL)
    assert faster == ({CPU: Verdict.CLEAR, RATE: Verdict.CLEAR}, FULL.rounds)


def test_the_short_form_is_decided_by_cpu_time() -> None:
    slower = compared(Measuring(a=[10.0] * 9, b=[14.0] * 9), SHORT)
    assert slower == ({CPU: Verdict.SLIP, RATE: Verdict.CLEAR}, SHORT.rounds)


def test_while_it_is_not_clear_there_are_more_rounds_up_to_a_most() -> None:
    verdicts, rounds = compared(Measuring(a=[10.0] * 15, b=[9.9, 11.2] * 7 + [9.9]), FULL)
    assert verdicts == {CPU: Verdict.CLEAR, RATE: Verdict.CLEAR}
    assert rounds == FULL.most_rounds


def test_a_side_answers_and_says_why_it_cannot(side: Callable[[], Side]) -> None:
    with side() as asked:
        assert asked.ask("echo", count=3) == {"heard": {"count": 3}, "python": sys.executable}
        with pytest.raises(GateError, match="candidate, fail: ValueError: not today"):
            asked.ask("fail")
        looked = []
        assert asked.ask("echo", while_waiting=lambda: looked.append(1))["heard"] == {}
        with pytest.raises(GateError, match="candidate, die: died\nmy last words"):
            asked.ask("die")


def test_a_side_takes_all_its_processes_with_it(side: Callable[[], Side]) -> None:
    with side() as asked:
        child = asked.ask("child")["pid"]
        assert set(session_members(asked.session)) == {asked.session, child}
    assert session_members(asked.session) == []


def test_the_base_is_what_is_asked_for_or_the_last_tag_or_what_the_file_says(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = History(tree)
    first = history.commit()
    commit(tree, "native/ring.hpp")
    second = history.commit()
    file = tmp_path / "gate_base"
    file.write_text(f"{first}\n")
    monkeypatch.setattr(gate, "BASE_FILE", file)
    assert gate.base_commit(history, None) == first
    git(tree, "tag", "v1")
    commit(tree, "native/ring.hpp")
    assert gate.base_commit(history, None) == second
    assert gate.base_commit(history, "HEAD~2") == first
    with pytest.raises(GitError):
        gate.base_commit(history, "nonsense")


def test_a_commit_is_built_once_from_what_is_committed(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[str] = []

    def build_tree(source: Path, home: Path) -> Path:
        built.append((source / "native/ring.hpp").read_text())
        home.mkdir(parents=True)
        return home

    monkeypatch.setattr(build, "build_tree", build_tree)
    history = History(tree)
    (tree / "native/ring.hpp").write_text("changed, and not committed")
    pythons = [build.build_commit(history.commit(), history, tmp_path / "gate") for _ in range(2)]
    assert built == ["line\n"]
    assert set(pythons) == {tmp_path / "gate" / history.commit() / "env" / "bin" / "python"}


def test_what_pip_refuses_is_quoted(tmp_path: Path) -> None:
    with pytest.raises(GateError, match=r"pip wheel .* failed:\n"):
        build.build_tree(tmp_path / "nowhere", tmp_path / "home")


def test_when_it_cannot_tell_it_says_why_and_is_not_green(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert gate.main(["--base", "nonsense"]) == 2
    assert "the gate cannot tell: git rev-parse" in capsys.readouterr().err
