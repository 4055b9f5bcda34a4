"""The sink of a stream that Spark reads: each row once in the spool, whatever happens; bounded; cleaned."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.connectors import spark_stream
from penstock.connectors.folder import Folder
from penstock.connectors.lines import Lines
from penstock.connectors.spark_stream import SparkStream
from penstock.connectors.spool import Spool
from penstock.errors import RunError, TopologyError
from penstock.testing.run import run_topology
from penstock.topology.topology import Topology
from penstock.topology.tuples import tuple_class
from tests.connectors.driving import context
from tests.connectors.spooling import Reader, Word, all_rows, emit, feed, hidden, open_sink


def test_without_epochs_all_is_there_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_stream, "_ROWS_PER_BATCH", 2)
    monkeypatch.setattr(spark_stream, "_FILE_BYTES", 1)
    sink = open_sink(tmp_path / "new" / "spool", by_epochs=False)
    feed(sink, "a", "b", "c")
    assert all_rows(tmp_path / "new" / "spool") == ["a", "b"]
    sink.finish()
    sink.close()
    assert all_rows(tmp_path / "new" / "spool") == ["a", "b", "c"]
    assert hidden(tmp_path / "new" / "spool") == []


def test_rows_are_seen_when_they_are_committed_and_not_before(tmp_path: Path) -> None:
    sink = open_sink(tmp_path)
    assert sink.prepare() is None
    feed(sink, "a", "b")
    token = sink.prepare()
    feed(sink, "c")
    assert all_rows(tmp_path) == []
    for _ in range(2):
        sink.commit(token or [])
        assert all_rows(tmp_path) == ["a", "b"]
    sink.close()
    assert hidden(tmp_path) == []
    about = Spool(str(tmp_path)).about()
    assert about is not None
    assert about.schema == "word string"


def test_an_epoch_of_many_batches_is_one_file_and_none_is_left_if_it_is_not_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_stream, "_ROWS_PER_BATCH", 2)
    sink = open_sink(tmp_path)
    emit(sink, "a", "b", "c")
    assert all_rows(tmp_path) == ["a", "b", "c"]
    assert len(list(tmp_path.glob("rows-*"))) == 1
    feed(sink, "d", "e", "f")
    assert len(hidden(tmp_path)) == 1
    sink.close()
    assert hidden(tmp_path) == []


def test_one_that_goes_on_in_the_same_process_leaves_no_gap(tmp_path: Path) -> None:
    sink = open_sink(tmp_path)
    feed(sink, "lost")
    sink.prepare()
    sink.recover([])
    emit(sink, "a")
    assert all_rows(tmp_path) == ["a"]
    sink.close()


def test_rows_are_on_the_disk_before_they_are_promised_and_names_before_they_are_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = open_sink(tmp_path)
    done: list[str] = []
    flush, show = Folder.flush, Folder.show

    def noting_flush(folder: Folder, name: str | None = None) -> None:
        done.append("names" if name is None else "rows")
        flush(folder, name)

    def noting_show(folder: Folder, name: str, *, owner: str) -> bool:
        done.append("shown")
        return show(folder, name, owner=owner)

    monkeypatch.setattr(Folder, "flush", noting_flush)
    monkeypatch.setattr(Folder, "show", noting_show)
    emit(sink, "a")
    assert done == ["rows", "names", "shown", "names"]
    sink.close()


steps = st.lists(
    st.one_of(
        st.tuples(st.just("epoch"), st.sampled_from(["committed", "not saved", "saved, then died", "died"])),
        st.sampled_from(["plan", "batch", "commit", "a new query", "another number of tasks"]),
    ),
    max_size=25,
)


@given(steps, st.integers(1, 3))
def test_each_row_is_read_once_whatever_happens_between(
    tmp_path_factory: pytest.TempPathFactory, story: list[Any], tasks: int
) -> None:
    folder = tmp_path_factory.mktemp("spool")
    attempt = 1
    sinks = [open_sink(folder, index=index, count=tasks, attempt=attempt) for index in range(tasks)]
    reader = Reader(folder)
    expected, since_saved = list[str](), list[str]()
    tokens: list[list[Any]] = [[] for _ in sinks]

    def restart(count: int) -> None:
        nonlocal attempt, sinks, tokens, since_saved
        attempt += 1
        fresh = [open_sink(folder, index=index, count=count, attempt=attempt) for index in range(count)]
        for index, sink in enumerate(fresh):
            sink.recover([token for task in range(index, len(tokens), count) for token in tokens[task]])
        sinks, tokens, since_saved = fresh, [[] for _ in fresh], []

    for number, step in enumerate(story):
        if step == "plan":
            reader.plan()
        elif step == "batch":
            reader.batch()
        elif step == "commit":
            reader.commit()
        elif step == "a new query":
            reader.batch()
            reader.commit()
            got = reader.got
            reader = Reader(folder)
            reader.got = got
        elif step == "another number of tasks":
            tokens = [[] for _ in sinks]
            restart(len(sinks) % 3 + 1)
        else:
            unsaved = [list(owed) for owed in tokens]
            for index, sink in enumerate(sinks):
                feed(sink, f"{number}-{index}")
                since_saved.append(f"{number}-{index}")
                tokens[index].append(sink.prepare())
            if step[1] == "died":  # and goes on from the last epoch that was saved, which owes nothing
                tokens = [[] for _ in unsaved]
                restart(len(sinks))
            elif step[1] == "saved, then died":
                expected += since_saved
                sinks[0].commit(tokens[0][0])  # it was the first to hear of it
                restart(len(sinks))
            elif step[1] == "committed":
                expected += since_saved
                for sink, owed in zip(sinks, tokens, strict=True):
                    for token in owed:
                        sink.commit(token)
                tokens, since_saved = [[] for _ in sinks], []
    for _ in range(2):
        reader.batch()
    reader.commit()
    assert Counter(reader.got) == Counter(expected)
    assert Spool(str(folder)).visible() == {}
    for sink in sinks:
        sink.close()


def test_tasks_that_are_no_more_leave_nothing_hidden(tmp_path: Path) -> None:
    old = [open_sink(tmp_path, index=index, count=3, attempt=1) for index in range(3)]
    for sink in old:
        feed(sink, "lost")
        sink.prepare()  # and then all were killed
    assert len(hidden(tmp_path)) == 3
    for index in range(2):
        sink = open_sink(tmp_path, index=index, count=2, attempt=2)
        sink.recover([])
        sink.close()
    assert hidden(tmp_path) == []


def test_a_file_that_appears_while_a_reader_looks_is_not_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = open_sink(tmp_path, attempt=1)
    feed(first, "a")
    owed = first.prepare()
    second = open_sink(tmp_path, attempt=2)
    sizes = Folder.sizes
    looks = 0

    def overtaken(folder: Folder) -> dict[str, int]:
        """Lists the folder as it was at first, and the newest file, which appeared only meanwhile."""
        nonlocal looks
        looks += 1
        if looks > 1:
            return sizes(folder)
        before = sizes(folder)
        second.recover([owed])
        emit(second, "b")
        now = sizes(folder)
        return before | {name: size for name, size in now.items() if f"-{second._writer}-" in name}

    reader = Reader(tmp_path)
    monkeypatch.setattr(Folder, "sizes", overtaken)
    reader.batch()
    monkeypatch.undo()
    reader.batch()
    assert reader.got == ["a", "b"]
    second.close()


def test_one_that_was_given_up_leaves_alone_what_its_successor_prepared(tmp_path: Path) -> None:
    slow = open_sink(tmp_path, attempt=1)
    successor = open_sink(tmp_path, attempt=2)
    successor.recover([])
    feed(successor, "a")
    token = successor.prepare()
    slow.recover([])  # its process was stopped, and goes on only now
    successor.commit(token or [])
    assert all_rows(tmp_path) == ["a"]
    slow.close()
    successor.close()


def test_a_commit_may_come_again_after_the_rows_were_taken_and_complains_if_they_are_lost(tmp_path: Path) -> None:
    sink = open_sink(tmp_path)
    feed(sink, "a")
    token = sink.prepare()
    assert token is not None
    sink.commit(token)
    reader = Reader(tmp_path)
    reader.batch()
    reader.commit()
    assert not (tmp_path / token[0]).exists()
    sink.commit(token)
    sink.recover([token])
    feed(sink, "b")
    token = sink.prepare()
    assert token is not None
    (tmp_path / f".{token[0]}").unlink()
    with pytest.raises(
        RunError, match=r"sink 't\.c': wanted .*, or \.rows-.* to rename, or that it was taken, got none"
    ):
        sink.commit(token)
    sink.close()


def test_cleaning_deletes_what_is_behind_and_what_was_left_hidden(tmp_path: Path) -> None:
    first = open_sink(tmp_path)
    emit(first, "a")
    feed(first, "lost")
    first.prepare()  # and then it was killed
    second = open_sink(tmp_path)
    emit(second, "b")
    reader = Reader(tmp_path)
    reader.batch()
    assert reader.got == ["a", "b"]
    emit(second, "c")
    assert len(hidden(tmp_path)) == 1
    reader.commit()
    assert all_rows(tmp_path) == ["c"]
    assert hidden(tmp_path) == []
    assert len(list(tmp_path.glob("rows-*"))) == 1
    assert len(list(tmp_path.glob("writer-*"))) == 1
    assert len(list(tmp_path.glob("taken-*"))) == 1
    second.close()


def test_a_second_reader_is_told_that_the_first_has_deleted_its_rows(tmp_path: Path) -> None:
    sink = open_sink(tmp_path)
    emit(sink, "a")
    one, other = Reader(tmp_path), Reader(tmp_path)
    other.plan()
    one.batch()
    one.commit()
    complaint = (
        r"wanted rows-.* and what comes after it, .* taken 1 files more, and deleted them: a spool has one reader"
    )
    with pytest.raises(RunError, match=complaint):
        other.batch()
    other.end = other.start
    other.plan()  # there is nothing, so there is nothing to complain of
    emit(sink, "b")
    with pytest.raises(RunError, match=complaint):
        other.plan()
    with pytest.raises(RunError, match=complaint):
        other.commit()
    [file] = tmp_path.glob("rows-*")
    one.plan()
    file.unlink()
    with pytest.raises(RunError, match=f"wanted {file.name}, got no such file: it is lost"):
        one.batch()
    sink.close()


@pytest.mark.parametrize("workers", [1, 2])
def test_in_a_topology_every_line_is_in_the_spool(tmp_path: Path, workers: int) -> None:
    topo = Topology("t")
    lines = topo.spout("lines", Lines([f"line {number}" for number in range(50)]), fields=("word",))
    for name in ("one", "two"):
        topo.bolt(name, SparkStream(tmp_path / name, schema="word string"), lines.shuffle(), tasks=2)
    run_topology(topo, workers=workers)
    for name in ("one", "two"):
        assert sorted(all_rows(tmp_path / name)) == sorted(f"line {number}" for number in range(50))
        assert hidden(tmp_path / name) == []


def test_rows_that_do_not_fit_end_the_run(tmp_path: Path) -> None:
    sink = open_sink(tmp_path)
    feed(sink, "a")
    sink.process(Word(7))
    with pytest.raises(RunError, match=r"sink 't\.c': row \(7,\): column 'word' takes str: .* got the int 7"):
        sink.prepare()
    with pytest.raises(RunError, match=r"wanted fields \('word',\), the columns of its schema, got \('line',\)"):
        sink.process(tuple_class("lines", "default", ("line",))("x"))
    sink.close()


def test_a_spool_of_other_rows_is_refused(tmp_path: Path) -> None:
    open_sink(tmp_path).close()
    with pytest.raises(RunError, match=r"for rows 'word int' of sink 't\.c', got one with rows 'word string' of"):
        open_sink(tmp_path, schema="word int")
    other = SparkStream(tmp_path, schema="word string")
    with pytest.raises(RunError, match=r"of sink 't\.other', got one .* of sink 't\.c': give another path"):
        other.open(msgspec.structs.replace(context(), component="other"))
    (tmp_path / "spool.json").write_text('{"schema": "word string", "sink": "t.c", "spool": "/a", "format": 9}')
    with pytest.raises(RunError, match="wanted format 1, got 9, of another version of Penstock"):
        Spool(str(tmp_path)).about()
    (tmp_path / "taken-00000001.json").write_text("{")
    with pytest.raises(RunError, match=r"taken-00000001\.json is not what was written"):
        Spool(str(tmp_path)).taken()


def test_a_disk_that_fails_ends_the_run_and_leaves_no_half_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = open_sink(tmp_path)
    feed(sink, "a")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Folder, "flush", full)
    with pytest.raises(RunError, match=r"sink 't\.c': cannot write .*No space left on device"):
        sink.prepare()
    monkeypatch.undo()
    sink.close()
    assert hidden(tmp_path) == []
    assert all_rows(tmp_path) == []


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"most_bytes": 0}, "most_bytes: wanted a whole number above 0, got 0"),
        ({"patience_s": -1}, "patience_s: wanted a number of seconds, got -1"),
        ({"schema": "word strin"}, "schema 'word strin': wanted a type"),
        ({"schema": 7}, "schema: wanted text such as 'word string, count long', got 7"),
        (
            {"path": "gopher://me:secret@host/x"},
            "path: wanted a folder or a URL that pyarrow knows, got 'gopher://host",
        ),
    ],
)
def test_settings_are_checked_before_the_start(tmp_path: Path, settings: dict[str, Any], complaint: str) -> None:
    topo = Topology("t")
    lines = topo.spout("lines", Lines(["a"]))
    topo.bolt("wrong", SparkStream(**{"path": tmp_path, "schema": "line string", **settings}), lines.shuffle())
    with pytest.raises(TopologyError) as caught:
        topo.check()
    assert complaint in str(caught.value)
    assert "secret" not in str(caught.value)
