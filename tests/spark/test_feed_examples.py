"""The examples with streaming queries before and behind a topology."""

from __future__ import annotations

import random
import runpy
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.spark.stream_driver import in_time

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_files_to_parquet(spark: Any, tmp_path: Path) -> None:
    example = runpy.run_path(str(EXAMPLES / "files_to_parquet.py"))
    found = example["overdrawn"](spark, tmp_path / "all", 40)

    spent: Counter[str] = Counter()
    for row in spark.read.schema(example["ORDERS"]).csv(str(tmp_path / "all" / "orders")).collect():
        spent[row.customer] += row.amount
    over = {customer for customer, amount in spent.items() if amount > example["LIMIT"]}
    rows = found.collect()
    assert over
    assert sorted(row.customer for row in rows) == sorted(over)


def test_between_two_queries(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random, "random", random.Random(1).random)
    example = runpy.run_path(str(EXAMPLES / "between_two_queries.py"))
    example["log_in"](tmp_path, 3000)

    failures: Counter[str] = Counter()
    alarms: list[tuple[int, int]] = []
    for file in sorted((tmp_path / "log").iterdir()):
        for line, user, how in (text.split() for text in file.read_text().splitlines()):
            failures[user] = 0 if how == "ok" else failures[user] + 1
            if failures[user] == 3:
                alarms.append((int(user), int(line)))
                failures[user] = 0

    # Run and query go on from their checkpoints, if it is repeated.
    found = in_time(lambda: example["table"](spark, tmp_path).collect())
    assert alarms
    assert sorted((row.user, row.line) for row in found) == sorted(alarms)
    assert all(row.name == f"user{row.user}" for row in found)
