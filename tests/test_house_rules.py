"""Rules of CONTRIBUTING.md that a machine can check."""

import re
from collections.abc import Iterator
from pathlib import Path

import penstock

ROOT = Path(__file__).parent.parent
CODE_FOLDERS = ("src", "native", "bench", "tests", "tools", "examples")
CODE_SUFFIXES = {".py", ".pyi", ".hpp", ".cpp", ".java"}
MOST_LINES = 600


def _code_files() -> Iterator[Path]:
    for folder in CODE_FOLDERS:
        for file in sorted((ROOT / folder).rglob("*")):
            if file.suffix in CODE_SUFFIXES and file.is_file():
                yield file


def test_no_file_is_too_long_to_read_in_one_sitting() -> None:
    lengths = {str(file.relative_to(ROOT)): len(file.read_text().splitlines()) for file in _code_files()}
    assert lengths, f"no code found in {CODE_FOLDERS}"
    assert {name: lines for name, lines in lengths.items() if lines > MOST_LINES} == {}


def test_no_drawer_for_odds_and_ends() -> None:
    assert [str(file.relative_to(ROOT)) for file in _code_files() if file.stem in {"utils", "util"}] == []


def test_changelog_opens_with_the_version_of_the_package() -> None:
    versions = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    assert versions[0] == penstock.__version__
