"""Results as they are kept, and what git says of the code they are of."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from bench.history import GitError, History
from bench.machine import describe_machine
from bench.report import Goal, Outcome, Report, Table
from bench.results import Kept, load, renew_images, save
from bench.series import run_all
from bench.status import status_table

TABLE = Table(title="Latency", columns=("who", "µs"), rows=(("ring", "1\n2"),), note="a note")
GOALS = (
    Goal(name="reached", value=1.0, comparison="<=", limit=2.0),
    Goal(name="missed", value=1.0, comparison="<", limit=1.0),
)


def kept(
    name: str, *, commit: str = "0123456789abcdef", remarks: str = "", dirty: bool = False, quick: bool = False
) -> Kept:
    return Kept(
        bench=name,
        commit=commit,
        dirty=dirty,
        date="2026-01-02",
        quick=quick,
        rounds=3,
        machine=describe_machine(),
        remarks=remarks,
        goals=GOALS,
        tables=(TABLE,),
    )


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository with one commit."""
    top = tmp_path / "tree"
    for folder in ("native", "docs", "bench/results"):
        (top / folder).mkdir(parents=True)
    git(top, "init", "--quiet")
    commit(top, "native/ring.hpp")
    return top


def git(top: Path, *arguments: str) -> None:
    who = ["-c", "user.name=test", "-c", "user.email=test@localhost", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *who, *arguments], cwd=top, check=True, capture_output=True)


def commit(top: Path, file: str) -> None:
    with (top / file).open("a") as open_file:
        open_file.write("line\n")
    git(top, "add", "--all")
    git(top, "commit", "--quiet", "--message", f"Change {file}")


def test_a_result_is_read_as_it_was_written(tmp_path: Path) -> None:
    result = kept("ipc")  # once: the load average of the machine is part of it
    file = save(result, tmp_path)
    assert load("ipc", tmp_path) == result
    assert load("moves", tmp_path) is None
    goals = json.loads(file.read_text())["goals"]
    assert [goal["holds"] for goal in goals] == [True, False]
    assert list(tmp_path.iterdir()) == [file]


def test_a_report_is_kept_with_the_commit_and_whether_the_tree_was_changed(tree: Path) -> None:
    outcome = Outcome(
        figures={"rates": {1_000: 0.1234567891234}},
        goals=GOALS,
        tables=(TABLE, Table(title="empty", columns=("a",), rows=())),
        plots=(Path("somewhere/latency.png"),),
        rounds=5,
        cpu_us_per_record={"ours": 40.0},
    )
    report = Report(bench="ipc", machine=describe_machine(), outcome=outcome)
    history = History(tree)
    clean = Kept.of(report, history.code(), quick=True)
    assert clean.commit == history.commit()
    assert (clean.dirty, clean.quick, clean.rounds, clean.plots) == (False, True, 5, ("latency.png",))
    assert clean.tables == (TABLE,)
    save(clean, tree / "bench/results")
    assert not history.is_dirty()  # a result is no change of what is measured
    again = load("ipc", tree / "bench/results")
    assert again is not None
    assert again.figures == {"rates": {"1000": 0.123456789}}
    assert again.cpu_us_per_record == {"ours": 40.0}
    (tree / "native/ring.hpp").write_text("changed")
    assert Kept.of(report, history.code(), quick=True).dirty


def test_only_images_that_are_shown_are_renewed(tmp_path: Path) -> None:
    plots = tuple(tmp_path / name for name in ("shown.png", "other.png"))
    for plot in plots:
        plot.write_text("new")
    images = tmp_path / "images"
    images.mkdir()
    (images / "ipc-shown.png").write_text("old")
    assert renew_images("ipc", plots, images) == [images / "ipc-shown.png"]
    assert {image.name: image.read_text() for image in images.iterdir()} == {"ipc-shown.png": "new"}


def test_commits_that_touch_the_data_plane_are_counted(tree: Path) -> None:
    history = History(tree)
    first = history.commit()
    for file in ("docs/page.md", "native/ring.hpp", "native/ring.hpp"):
        commit(tree, file)
    assert history.data_plane_changes_since(first) == 2
    assert history.data_plane_changes_since("0" * 40) is None
    assert history.last_tag() is None
    git(tree, "tag", "v1")
    assert history.last_tag() == "v1"
    with pytest.raises(GitError, match="rev-parse"):
        history.commit("nonsense")
    results = tree / "bench/results"
    save(kept("ipc", commit=first), results)
    status = status_table(history, results, ["ipc", "moves"])
    columns = [[str(cell) for cell in column.cells] for column in status.columns]
    assert columns[3] == ["by 2 commits", ""]
    assert columns[4:] == [["1 of 2", ""], ["missed", ""]]


class Runner:
    """Keeps a result for each benchmark that it is asked to run; fails for some, and is interrupted at one."""

    def __init__(self, history: History, results: Path, *, failing: str = "", interrupted: str = "") -> None:
        self.ran: list[str] = []
        self._history, self._results, self._failing, self._interrupted = history, results, failing, interrupted

    def __call__(self, arguments: Sequence[str]) -> int:
        name = arguments[0]
        assert "--keep" in arguments
        if name == self._interrupted:
            raise KeyboardInterrupt
        self.ran.append(name)
        if name == self._failing:
            return 1
        save(kept(name, commit=self._history.commit(), quick="--quick" in arguments), self._results)
        return 0


def test_all_goes_on_after_a_failure_and_where_it_was_interrupted(tree: Path) -> None:
    history, results = History(tree), tree / "bench/results"
    names = ["a", "b", "c"]

    def run(runner: Runner, *, resume: bool = True, quick: bool = False) -> int:
        return run_all(names, resume=resume, quick=quick, history=history, results=results, run=runner)

    interrupted = Runner(history, results, interrupted="b")
    with pytest.raises(KeyboardInterrupt):
        run(interrupted)
    failing = Runner(history, results, failing="b")
    assert run(failing) == 1
    assert failing.ran == ["b", "c"]
    git(tree, "add", "--all")
    git(tree, "commit", "--quiet", "--message", "Keep results")  # which is no other code
    rest = Runner(history, results)
    assert run(rest) == 0
    assert rest.ran == ["b"]
    everything = Runner(history, results)
    assert run(everything, resume=False) == 0
    assert everything.ran == names
    commit(tree, "native/ring.hpp")
    anew = Runner(history, results)
    assert run(anew, quick=True) == 0
    assert anew.ran == names
    thorough = Runner(history, results)
    assert run(thorough) == 0
    assert thorough.ran == names  # a quick result does not stand for a full one
