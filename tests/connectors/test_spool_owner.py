"""A spool is of one run at a time, and of one checkpoint for good."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from penstock.connectors.spark_stream import SparkStream
from penstock.connectors.spool_owner import SpoolOwner
from penstock.errors import RunError
from tests.connectors.spooling import Reader, all_rows, emit, feed, opened


def of_run(folder: Path, **names: Any) -> SparkStream:
    return opened(SparkStream(folder, schema="word string"), **names)


def marks(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("owner-*"))


def test_runs_that_go_on_from_one_checkpoint_share_a_spool_and_others_are_refused(tmp_path: Path) -> None:
    first = of_run(tmp_path, run="one", checkpoint="aa")
    feed(first, "a")
    token = first.prepare()
    first.close()  # as if killed, for what is prepared stays
    for strange in ({"run": "two", "checkpoint": "bb"}, {"run": "two"}):
        with pytest.raises(
            RunError,
            match=rf"sink 't\.c': wanted spool {tmp_path} for owner-.*, got one with owner-checkpoint-aa, for",
        ):
            of_run(tmp_path, **strange)
    assert marks(tmp_path) == ["owner-checkpoint-aa"]
    again = of_run(tmp_path, run="three", checkpoint="aa", attempt=1)
    again.recover([token])
    emit(again, "b")
    assert all_rows(tmp_path) == ["a", "b"]
    again.close()


def test_without_a_checkpoint_the_next_run_has_the_spool_and_the_former_ends(tmp_path: Path) -> None:
    first = of_run(tmp_path, run="one")
    emit(first, "a")
    second = of_run(tmp_path, run="two")
    emit(second, "b")
    assert marks(tmp_path) == ["owner-run-two"]
    feed(first, "c")
    with pytest.raises(
        RunError, match=r"sink 't\.c': wanted owner-run-one in spool .*, got owner-run-two: another run"
    ):
        first.prepare()
    first.close()
    bound = of_run(tmp_path, run="three", checkpoint="aa")
    feed(second, "d")
    with pytest.raises(RunError, match="got owner-checkpoint-aa: another run has taken it"):
        second.prepare()
    second.close()
    bound.close()
    assert all_rows(tmp_path) == ["a", "b"]


def test_of_checkpoints_that_come_at_once_at_most_one_has_it_and_the_next_can(tmp_path: Path) -> None:
    for _ in range(20):
        refused: list[str] = []
        owners = [SpoolOwner(str(tmp_path), run="", checkpoint=name, sink="sink") for name in ("aa", "bb", "cc")]

        def take(owner: SpoolOwner, refused: list[str] = refused) -> None:
            try:
                owner.take()
            except RunError as error:
                refused.append(str(error))

        threads = [threading.Thread(target=take, args=[owner]) for owner in owners]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(refused) == 3 - len(marks(tmp_path))
        assert len(refused) >= 2
        for mark in tmp_path.glob("owner-*"):
            mark.unlink()


def test_a_spool_that_was_emptied_is_read_on_by_the_same_query(tmp_path: Path) -> None:
    for _ in range(2):  # so that a count that begins anew is behind
        first = of_run(tmp_path, run="one", checkpoint="aa", now_ns=lambda: 1_000_000_000_000)
        first.close()
    first = of_run(tmp_path, run="one", checkpoint="aa", now_ns=lambda: 1_000_000_000_000)
    emit(first, "a")
    first.close()
    reader = Reader(tmp_path)
    reader.batch()
    reader.commit()
    for path in tmp_path.iterdir():
        path.unlink()
    second = of_run(tmp_path, run="two", checkpoint="bb", now_ns=lambda: 2_000_000_000_000)
    emit(second, "b")
    reader.batch()
    assert reader.got == ["a", "b"]
    second.close()
