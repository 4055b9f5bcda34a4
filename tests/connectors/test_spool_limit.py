"""A spool has a limit: the sink waits for readers, and fails when there are none."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from penstock.errors import RunError
from tests.connectors.spooling import Reader, all_rows, emit, feed, hidden, open_sink
from tests.ring.patience import wait_until


def test_a_full_spool_is_waited_for_until_a_query_has_made_room(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    sink = open_sink(tmp_path, most_bytes=1, patience_s=1000)
    emit(sink, "a")  # nobody could make room for the first: there is nothing to take
    thread = threading.Thread(target=emit, args=(sink, "b"))
    thread.start()
    try:
        wait_until(lambda: "waiting up to 1000 s until a query has made room" in caplog.text, "the sink waits")
        assert all_rows(tmp_path) == ["a"]
    finally:
        reader = Reader(tmp_path)
        reader.batch()
        reader.commit()
        thread.join()
    reader.batch()
    assert reader.got == ["a", "b"]
    sink.close()


def test_when_nobody_reads_the_run_fails_and_nothing_is_lost(tmp_path: Path) -> None:
    sink = open_sink(tmp_path, most_bytes=1, patience_s=0)
    emit(sink, "a")
    feed(sink, "b")
    with pytest.raises(RunError, match=r"holds \d+ bytes, of at most 1, and no query has made room for 0 s\. Read it"):
        sink.prepare()
    sink.close()
    assert all_rows(tmp_path) == ["a"]
    again = open_sink(tmp_path, most_bytes=1 << 20)  # from its checkpoint
    again.recover([])
    emit(again, "b")
    assert all_rows(tmp_path) == ["a", "b"]
    assert hidden(tmp_path) == []
    again.close()


def test_what_other_tasks_have_prepared_is_not_waited_for(tmp_path: Path) -> None:
    sinks = [open_sink(tmp_path, index=index, count=2, most_bytes=1, patience_s=0) for index in range(2)]
    for sink in sinks:
        feed(sink, "a")
    tokens = [sink.prepare() for sink in sinks]
    for sink, token in zip(sinks, tokens, strict=True):
        sink.commit(token or [])
        sink.close()
    assert all_rows(tmp_path) == ["a", "a"]


@pytest.mark.parametrize("by_epochs", [False, True])
def test_a_full_disk_ends_the_run_and_a_query_makes_room_on_it(small_disk: Path, by_epochs: bool) -> None:
    sink = open_sink(small_disk, by_epochs=by_epochs)
    emit(sink, *(os.urandom(500).hex() for _ in range(500)))
    reader = Reader(small_disk)
    with pytest.raises(RunError, match=r"sink 't\.c': cannot write .*No space left on device"):
        emit(sink, *(os.urandom(500).hex() for _ in range(1000)))
    sink.close()
    assert hidden(small_disk) == []
    reader.batch()
    assert len(reader.got) == 500
    reader.commit()
    again = open_sink(small_disk, by_epochs=by_epochs, attempt=1)  # from its checkpoint
    emit(again, *(os.urandom(500).hex() for _ in range(600)))
    reader.batch()
    assert len(reader.got) == 1100
    again.close()
