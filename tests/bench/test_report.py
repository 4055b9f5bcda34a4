import json
from io import StringIO
from typing import Literal

import pytest
from rich.console import Console

from bench.machine import describe_machine
from bench.report import Goal, Outcome, Report, Table, format_figure, show
from bench.stats import Spread

MET = Goal(name="met", value=0.5, comparison="<=", limit=0.5)
MISSED = Goal(name="missed", value=1.0, comparison="<", limit=1.0)
UNMEASURED = Goal(name="unmeasured", value=None, comparison=">=", limit=1_500_000)
TABLE = Table(title="Latency", columns=("who", "µs"), rows=(("ring [fast]", "1\n2/3"),), note="a note")


@pytest.fixture
def report() -> Report:
    outcome = Outcome(
        figures={"rows": [Spread.over([1.0])], "by_size": {"100": 2}},
        goals=(MET, MISSED, UNMEASURED),
        tables=(TABLE, Table(title="Nothing to say", columns=("a",), rows=())),
    )
    return Report(bench="some", machine=describe_machine(), outcome=outcome)


@pytest.mark.parametrize(
    ("comparison", "below", "at", "above"),
    [("<=", True, True, False), ("<", True, False, False), (">=", False, True, True)],
)
def test_a_goal_holds_on_the_right_side_of_its_limit(
    comparison: Literal["<=", "<", ">="], below: bool, at: bool, above: bool
) -> None:
    held = [Goal(name="g", value=value, comparison=comparison, limit=1.0).holds for value in (0.9, 1.0, 1.1)]
    assert held == [below, at, above]


def test_a_goal_that_was_not_measured_does_not_hold() -> None:
    assert not UNMEASURED.holds


def test_json_is_one_line_of_the_agreed_shape(report: Report) -> None:
    line = report.to_json()
    assert "\n" not in line
    parsed = json.loads(line)
    assert list(parsed) == ["bench", "machine", "figures", "goals"]
    assert parsed["bench"] == "some"
    assert {"cpu", "cores", "kernel", "python", "packages"} <= parsed["machine"].keys()
    assert parsed["figures"] == {
        "rows": [{"median": 1.0, "lowest": 1.0, "highest": 1.0}],
        "by_size": {"100": 2},
    }
    assert parsed["goals"] == {
        "met": {"value": 0.5, "goal": "<= 0.5", "holds": True},
        "missed": {"value": 1.0, "goal": "< 1", "holds": False},
        "unmeasured": {"value": None, "goal": ">= 1,500,000", "holds": False},
    }


def test_markdown_has_every_table_with_rows(report: Report) -> None:
    markdown = report.to_markdown()
    assert "## Latency\n\n| who | µs |\n| --- | --- |\n| ring [fast] | 1<br>2/3 |\n\na note" in markdown
    assert "| missed | < 1 | 1 | NO |" in markdown
    assert "| unmeasured | >= 1,500,000 | not measured | NO |" in markdown
    assert "Nothing to say" not in markdown


def test_the_terminal_shows_texts_as_they_are(report: Report) -> None:
    screen = StringIO()
    show(report, Console(file=screen, width=100))
    assert "ring [fast]" in screen.getvalue()
    assert "missed" in screen.getvalue()


@pytest.mark.parametrize(
    ("value", "text"), [(0.01234, "0.0123"), (4.567, "4.57"), (99.94, "99.9"), (1234567.8, "1,234,568")]
)
def test_figures_have_three_significant_digits(value: float, text: str) -> None:
    assert format_figure(value) == text
