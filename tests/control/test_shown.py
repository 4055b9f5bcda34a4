"""Status and metrics as people see them who type `run.status()`: lines of a table, and the same in a notebook."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.control.metrics import RunMetrics, TaskCounts
from penstock.control.pressure_metrics import PressureMetrics
from penstock.control.protocol import Fatal, Report, TaskFailure
from penstock.control.status import RunStatus
from penstock.control.tables import html_of, text_table
from penstock.flow.relief import ReliefState
from tests.control.stage import Stage


class Cells(HTMLParser):
    """What a browser would show: the texts of a page, and its tags."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.tags: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.fixture
def stage() -> Stage:
    """A run with a slow bolt, one that waits for it, and a failure."""
    made = Stage()
    first, _ = made.runs()
    made.says(
        first,
        Report(
            at_ns=1,
            tasks=(
                TaskCounts(task=0, processed=1234, emitted=1234),
                TaskCounts(task=1, episodes=1, pressure=ReliefState.STOPPING, stopped_now=(3,)),
                TaskCounts(task=3, episodes=2, pressure=ReliefState.STOPPING),
            ),
        ),
    )
    failure = TaskFailure(component="count", task=3, kind="ValueError", message="<b>no</b> word", traceback="")
    made.says(first, failure)
    return made


def status_of(stage: Stage) -> RunStatus:
    return stage.controller.status(stage.now_s)


def metrics_of(stage: Stage) -> RunMetrics:
    return stage.controller.metrics(stage.now_s)


def test_a_status_has_a_headline_a_line_for_each_worker_and_what_else_there_is_to_know(stage: Stage) -> None:
    stage.host_ends(1, error="exit code 1")
    headline, columns, *lines = repr(status_of(stage)).splitlines()
    assert headline.startswith("run run-1 of wordcount: running, ")
    assert columns.split() == ["worker", "state", "host", "pid", "tasks", "silent", "s"]
    assert lines[0].split() == ["0", "begun", "host-0", "1000", "2", "0.0"]
    assert lines[1].split()[0] == "1"
    assert "count is too slow: nobody helps; stops split" in lines
    assert "split waits for count: stops nobody" in lines
    assert any(line.startswith("· ") for line in lines)
    assert max(map(len, [headline, columns, *lines])) < 160


def test_metrics_have_a_line_for_each_component(stage: Stage) -> None:
    headline, columns, *lines = repr(metrics_of(stage)).splitlines()
    assert headline.startswith("metrics after 0.0 s")
    assert columns.split()[:4] == ["component", "kind", "tasks", "processed"]
    assert lines[0].split()[:4] == ["lines", "spout", "1", "1,234"]
    assert [line.split()[0] for line in lines[:3]] == ["lines", "split", "count"]
    assert "count: 1 × ValueError: <b>no</b> word" in lines


def test_a_notebook_has_the_same_as_a_table_and_no_markup_of_others(stage: Stage) -> None:
    for shown in (status_of(stage), metrics_of(stage)):
        page = Cells(shown._repr_html_())
        assert page.tags.count("table") == 1
        for line in repr(shown).splitlines():
            for cell in line.split("  "):
                assert cell.strip() in "".join(page.texts)
        assert "b" not in page.tags


def test_one_that_fails_says_why() -> None:
    stage = Stage()
    first, second = stage.runs()
    stage.says(first, Fatal(traceback="KeyError: 'word'"))
    stage.all_leave([first, second])
    assert "failed" in repr(status_of(stage)).splitlines()[0]
    assert "error: worker 0 on host-0" in repr(status_of(stage))
    assert "KeyError: &#x27;word&#x27;" in status_of(stage)._repr_html_()


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=8)


@given(st.lists(st.tuples(TEXTS, st.integers(-(10**9), 10**9), st.none() | st.floats(-1e6, 1e6)), max_size=5))
def test_tables_keep_every_cell_and_their_columns(rows: list[tuple[str, int, float | None]]) -> None:
    heading = ("name", "count", "share")
    lines = text_table(heading, rows)
    assert len(lines) == len(rows) + 1
    starts = lines[0].index("count")
    for line, (name, count, share) in zip(lines[1:], rows, strict=True):
        assert line.split()[:2] == [name, f"{count:,}"]
        assert line.split()[2:] == ([] if share is None else [f"{share:,.1f}"])
        assert len(line[: line.rindex(f"{count:,}")]) <= starts + 20
    page = Cells(html_of("<i>headline</i>", heading, rows, ["<script>"]))
    assert {*page.tags} <= {"div", "strong", "table", "thead", "tbody", "tr", "th", "td"}
    assert page.tags.count("td") == 3 * len(rows)
    assert page.texts[0] == "<i>headline</i>"
    assert page.texts[-1] == "<script>"


def test_who_waits_is_not_called_too_slow() -> None:
    about = {"asked_s": 0.0, "stopping_s": 1.0, "episodes": 1, "stopped_s": {}, "helped_by": {}, "ratios": {}}
    waits = PressureMetrics(component="a", state=ReliefState.STOPPING, waits_for=("b",), stops=(), **about)  # type: ignore[arg-type]
    assert str(waits) == "a waits for b: stops nobody"
