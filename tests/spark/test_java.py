"""Whether there is a Java for Spark, said in one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import StartError
from penstock.spark.java import require_java


def fake_java(home: Path, script: str) -> None:
    java = home / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\n{script}\n")
    java.chmod(0o755)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    return tmp_path


def test_the_java_of_this_machine_will_do() -> None:
    require_java()


def test_no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StartError, match=r"Java 17 or newer, and there is no java on the PATH: install .* JAVA_HOME"):
        require_java()


@pytest.mark.parametrize(("told", "version"), [("1.8.0_392", 8), ("11.0.2", 11), ("16", 16)])
def test_java_is_too_old(home: Path, told: str, version: int) -> None:
    fake_java(home, f"echo 'openjdk version \"{told}\" 2020-01-01' >&2")
    with pytest.raises(StartError, match=rf"needs Java 17 or newer, and {home}/bin/java is Java {version}: install"):
        require_java()


def test_spark_3_runs_on_older_ones_and_without_the_module(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.spark.spark_version.HERE", (3, 5))
    fake_java(home, "case $1 in --add-modules*) exit 1;; esac; echo 'openjdk version \"1.8.0_392\"' >&2")
    require_java()


def test_java_without_the_module_that_spark_asks_for(home: Path) -> None:
    fake_java(home, "case $1 in --add-modules*) exit 1;; esac; echo 'openjdk version \"17.0.9\"' >&2")
    with pytest.raises(StartError, match=r"needs Java's module jdk.incubator.vector, .* \(Java 17\) comes without it"):
        require_java()


@pytest.mark.parametrize("script", ["exit 1", "echo hello", "kill $$"])
def test_java_that_is_none(home: Path, script: str) -> None:
    fake_java(home, script)
    with pytest.raises(StartError, match="does not tell its version"):
        require_java()


def test_a_java_home_without_java(home: Path) -> None:
    with pytest.raises(StartError, match=rf"{home}/bin/java does not tell its version"):
        require_java()
