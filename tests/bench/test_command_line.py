import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from bench import __main__ as command_line
from bench import results
from bench.catalogue import BENCHMARKS
from bench.report import Goal, Outcome
from bench.results import Kept
from bench.settings import RunSettings


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> list[RunSettings]:
    """A benchmark named `fake` that only notes what it was given."""
    given: list[RunSettings] = []

    def run(settings: RunSettings) -> Outcome:
        given.append(settings)
        with settings.progress.stage("faking", 2) as step:
            step("one")
            step("two")
        return Outcome(figures={"answer": 42}, goals=(Goal(name="g", value=1, comparison="<", limit=2),), tables=())

    fake = ModuleType("fake_benchmark")
    fake.run = run  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "fake_benchmark", fake)
    monkeypatch.setitem(BENCHMARKS, "fake", "fake_benchmark")
    return given


def test_json_is_the_last_line(given: list[RunSettings], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["fake", "--quick", "--json", "--out", str(tmp_path / "new")]) == 0
    captured = capsys.readouterr()
    last = captured.out.splitlines()[-1]
    assert json.loads(last)["figures"] == {"answer": 42}
    assert json.loads(last)["goals"] == {"g": {"value": 1, "goal": "< 2", "holds": True}}
    assert "Goals" in captured.out
    assert "faking: 1/2, two" in captured.err
    assert given[0].quick
    assert (tmp_path / "new" / "report.json").read_text() == last + "\n"
    assert "| g | < 2 | 1 | yes |" in (tmp_path / "new" / "report.md").read_text()


def test_without_json_there_is_none_and_results_go_to_the_build_folder(
    given: list[RunSettings], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command_line.main(["fake"])
    assert "{" not in capsys.readouterr().out
    assert given[0].out == Path("build/bench/fake")
    assert not given[0].quick
    assert (tmp_path / "build/bench/fake/report.json").exists()


def test_an_unknown_benchmark_is_refused_with_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command_line.main(["nonsense"])
    assert "ipc" in capsys.readouterr().err


def test_keep_puts_the_report_among_the_results(
    given: list[RunSettings], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    saved: list[Kept] = []

    def save(kept: Kept) -> Path:
        saved.append(kept)
        return tmp_path / "fake.json"

    monkeypatch.setattr(results, "save", save)
    command_line.main(["fake", "--out", str(tmp_path)])
    assert saved == []
    command_line.main(["fake", "--quick", "--keep", "--out", str(tmp_path)])
    assert [(kept.bench, kept.quick, kept.goals) for kept in saved] == [("fake", True, saved[0].goals)]
    assert saved[0].goals[0].name == "g"
    assert f"Kept: {tmp_path / 'fake.json'}" in capsys.readouterr().out
    assert len(given) == 2


def test_status_shows_every_benchmark(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["status"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in BENCHMARKS)
