"""The page of the documentation is what the results say, and nobody else writes tables into it."""

from pathlib import Path

import pytest

from bench.catalogue import BENCHMARKS
from bench.page import PAGE, make_page
from bench.results import FOLDER, load, save
from tests.bench.test_results import kept


def test_the_page_is_what_is_made_of_the_results() -> None:
    assert PAGE.read_text() == make_page(), "docs/benchmarks.md was not made by `python -m bench page`"


def test_whatever_is_kept_is_a_benchmark_and_can_be_read() -> None:
    names = {file.stem for file in FOLDER.glob("*.json")}
    assert names <= BENCHMARKS.keys()
    for name in names:
        result = load(name)
        assert result is not None
        assert result.bench == name


def test_a_section_has_its_tables_goals_remarks_and_where_they_come_from(tmp_path: Path) -> None:
    save(kept("ipc", remarks="A **remark**.", dirty=True), tmp_path)
    page = make_page(tmp_path, ["ipc", "moves"])
    assert "| [`ipc`](#ipc): messages between two processes" in page
    assert "| `0123456789ab-dirty` | 2026-01-02 | 1 of 2 |" in page
    section = page.split("## ipc\n")[1]
    assert "How it is measured: sender and receiver" in section  # by hand, from its folder
    assert "A **remark**.\n\nMeasured on 2026-01-02 at commit `0123456789ab-dirty`, 3 rounds: " in section
    assert "### Latency\n\n| who | µs |\n| --- | --- |\n| ring | 1<br>2 |\n\na note" in section
    assert "| reached | <= 2 | 1 | yes |\n| missed | < 1 | 1 | NO |" in section


def test_what_was_not_measured_says_so(tmp_path: Path) -> None:
    page = make_page(tmp_path, ["moves"])
    assert page.endswith("Not measured on the present code.\n")
    assert "| Not measured on the present code. |" in page


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_benchmark_is_explained(name: str) -> None:
    assert Path("bench", name, "page.md").read_text().strip()
