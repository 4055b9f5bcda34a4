"""The table of versions says what the reports say, and nothing that was skipped has passed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import versions
from tools.versions import AREAS, FILES, QUICK, STREAMS_OUT, Result, Target, areas_of

PASSED = {module: [""] for modules in AREAS.values() for module in modules}
REASON = "Spark has Python data sources since 4.0"
MODULE_SKIPPED = f"<skipped message=\"collection skipped\">('/a/test_streams.py', 19, 'Skipped: {REASON}')</skipped>"


def report(outcomes: dict[str, list[str]]) -> str:
    """As pytest writes it, with what is inside of each case."""
    cases = [
        f'<testcase classname="" name="{module}">{inside}</testcase>'
        if "collection skipped" in inside
        else f'<testcase classname="{module}" name="test_{number}">{inside}</testcase>'
        for module, insides in outcomes.items()
        for number, inside in enumerate(insides)
    ]
    return f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>"


def test_what_passed_is_there() -> None:
    assert areas_of(report(PASSED), FILES) == dict.fromkeys(AREAS, "yes")
    assert areas_of(report(PASSED), QUICK) == dict.fromkeys(list(AREAS)[:3], "yes")


@pytest.mark.parametrize("inside", ["<failure/>", "<error/>", '<skipped message="x">a.py:1: x</skipped>', None])
@pytest.mark.parametrize("area", AREAS)
def test_what_failed_or_was_skipped_or_did_not_run_has_not_passed(area: str, inside: str | None) -> None:
    others = {module: insides for module, insides in PASSED.items() if module not in AREAS[area]}
    broken = others | {module: ["", inside] for module in AREAS[area] if inside is not None}
    assert areas_of(report(broken), FILES) == dict.fromkeys(AREAS, "yes") | {area: "failed"}


def test_what_a_spark_lacks_has_a_reason_and_is_expected() -> None:
    skipped = report(PASSED | {"tests.spark.test_streams": [MODULE_SKIPPED]})
    assert areas_of(skipped, FILES, lacks=(STREAMS_OUT,))[STREAMS_OUT] == f"no: {REASON}"
    assert areas_of(skipped, FILES)[STREAMS_OUT] == "failed"
    assert areas_of(report(PASSED), FILES, lacks=(STREAMS_OUT,))[STREAMS_OUT] == "failed", "it should not work"


def test_the_table_takes_the_place_of_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n\n{versions.BEGIN}\nold\n{versions.END}\n\nafter\n")
    monkeypatch.setattr(versions, "PAGE", page)
    found = {"pyspark": "3.5.9", "python": "3.11.7", "pandas": "2.3.3", "numpy": "2.4.6", "pyarrow": "26.0.1"}
    areas = dict.fromkeys(AREAS, "yes") | {STREAMS_OUT: f"no: {REASON}"}
    for _ in range(2):
        versions.write_table([Result(Target("3.5", "3.11"), found, areas, 1.0)], "abc1234")
    text = page.read_text()
    assert text.startswith(f"before\n\n{versions.BEGIN}\n\n| Spark | Python |")
    assert text.endswith(f", at commit abc1234.\n\n{versions.END}\n\nafter\n")
    assert "| 3.5.9 | 3.11.7 | 2.3.3 | 2.4.6 | 26.0.1 | yes | yes | yes | yes | no (1) |" in text
    assert f"(1) {REASON}." in text
    assert "old" not in text


def test_a_page_without_marks_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text("nothing")
    monkeypatch.setattr(versions, "PAGE", page)
    with pytest.raises(SystemExit, match="got a page without"):
        versions.write_table([], "abc1234")
    assert page.read_text() == "nothing"


def test_the_page_has_what_every_target_passed() -> None:
    """It may be of an older commit, but it says which."""
    _, _, rest = versions.PAGE.read_text().partition(versions.BEGIN)
    written, _, _ = rest.partition(versions.END)
    rows = [line.split("|")[1:3] for line in written.splitlines() if line.startswith("| ")][1:]
    assert [(target.spark, target.python) for target in versions.MATRIX] == [
        (".".join(spark.split(".")[:2]).strip(), ".".join(python.split(".")[:2]).strip()) for spark, python in rows
    ]
    assert "at commit " in written
