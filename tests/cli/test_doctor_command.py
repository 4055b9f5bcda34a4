"""`penstock doctor`: findings for people, and an exit code for scripts."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.errors import StartError
from penstock.spark.finding import Finding
from tests.cli.conftest import Penstock

GOOD = Finding(level="ok", what="Spark has 4 slots on local[4]")
SLOW = Finding(level="warning", what="speculation is on", why="[b] it starts workers twice [/b]", remedy="turn it off")
BAD = Finding(level="error", what="no slots", why="the cluster is full", remedy="wait")


def finds(monkeypatch: pytest.MonkeyPatch, *findings: Finding) -> list[Any]:
    asked: list[Any] = []

    @contextlib.contextmanager
    def session(**how: Any) -> Iterator[str]:
        asked.append(how)
        yield "the session"

    def diagnose(spark: Any, **how: Any) -> list[Finding]:
        asked.append((spark, how))
        return [*findings]

    monkeypatch.setattr("penstock.cli.main.borrowed_session", session)
    monkeypatch.setattr("penstock.cli.main.diagnose", diagnose)
    return asked


def test_a_healthy_spark(penstock: Penstock, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = finds(monkeypatch, GOOD)

    assert penstock("doctor") == (0, "ok       Spark has 4 slots on local[4]\n", "")
    assert asked == [{"master": None, "workers": 2}, ("the session", {"workers": 2})]


def test_a_warning_comes_with_what_to_do_and_is_no_failure(penstock: Penstock, monkeypatch: pytest.MonkeyPatch) -> None:
    finds(monkeypatch, GOOD, SLOW)
    code, out, _ = penstock("doctor")

    assert code == 0
    assert out.endswith(
        "warning  speculation is on\n         why: [b] it starts workers twice [/b]\n         do:  turn it off\n"
    )


def test_an_error_is_a_failure(penstock: Penstock, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = finds(monkeypatch, BAD, GOOD)
    code, out, _ = penstock("doctor", "--master", "spark://head:7077", "--workers", "8")

    assert code == 1
    assert out.startswith("error    no slots\n")
    assert asked == [{"master": "spark://head:7077", "workers": 8}, ("the session", {"workers": 8})]


def test_a_spark_that_does_not_start_is_told_in_one_line(penstock: Penstock, monkeypatch: pytest.MonkeyPatch) -> None:
    def session(**_: Any) -> Any:
        message = "Spark needs Java 17 or newer"
        raise StartError(message)

    monkeypatch.setattr("penstock.cli.main.borrowed_session", session)

    assert penstock("doctor") == (1, "", "StartError: Spark needs Java 17 or newer\n")
