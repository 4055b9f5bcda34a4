"""The examples in the documents are run: what a reader copies has to work."""

from __future__ import annotations

import doctest
import importlib
import re
from pathlib import Path

import pytest

from tools import reference

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
MODULES_WITH_EXAMPLES = [
    "penstock.flow.balance",
    "penstock.flow.spare_time",
    "penstock.flow.two_choices",
    "penstock.transport.broadcast",
    "penstock.transport.ring",
]

PYTHON_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
CODE_BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
WITHIN = re.compile(r"\]\(#([^)]+)\)")
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#]+)")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_python_blocks_run(document: Path) -> None:
    names: dict[str, object] = {"__name__": document.stem}
    for block in PYTHON_BLOCK.findall(document.read_text()):
        code = compile(block, str(document), "exec")
        exec(code, names)  # asserts inside the block do the checking
    assert names["__name__"] == document.stem


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path) -> None:
    broken = [link for link in LINK.findall(document.read_text()) if not (document.parent / link).exists()]
    assert not broken


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_within_a_page_lead_to_one_heading(document: Path) -> None:
    text = CODE_BLOCK.sub("", document.read_text())
    headings = [reference.anchor(title) for title in HEADING.findall(text)]
    assert [link for link in WITHIN.findall(text) if headings.count(link) != 1] == []


@pytest.mark.parametrize("module", MODULES_WITH_EXAMPLES)
def test_docstring_examples_run(module: str) -> None:
    result = doctest.testmod(importlib.import_module(module))
    assert result.attempted > 0
    assert result.failed == 0


def test_reference_is_what_the_docstrings_say() -> None:
    assert reference.PAGE.read_text() == reference.reference(), "run python -m tools.reference"
