"""The pages on DataFrames and the example of one: what a reader copies has to work."""

from __future__ import annotations

import importlib.util
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.spark.stream_driver import in_time

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```py\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    ("name", "count"), [("dataframes", 4), ("from-structured-streaming", 4), ("streaming-frames", 1)]
)
def test_the_page_runs(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, count: int) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    page = ROOT / "docs" / f"{name}.md"
    blocks = BLOCK.findall(page.read_text())
    assert len(blocks) == count

    def run_all() -> None:
        names: dict[str, object] = {"__name__": name.replace("-", "_"), "spark": spark}
        for block in blocks:
            exec(compile(block, str(page), "exec"), names)  # asserts inside the block do the checking

    in_time(run_all)


def test_the_example_finds_what_stands_out(spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = ROOT / "examples" / "table_through_topology.py"
    spec = importlib.util.spec_from_file_location("table_through_topology", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    module.main(["--workers", "2", "--output", str(tmp_path / "spikes")])

    assert "10 of 10,000 readings stand out" in capsys.readouterr().out
    rows = spark.read.parquet(str(tmp_path / "spikes")).collect()
    assert {row.value for row in rows} == {90.0}
    assert all(20.0 <= row.usual < 30.0 for row in rows)
