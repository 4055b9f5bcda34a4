"""Parquet files: whole ones only, each row once, whatever happens between two commits."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.connectors import parquet_sink
from penstock.connectors.lines import Lines
from penstock.connectors.parquet_sink import ParquetSink
from penstock.errors import RunError, TopologyError
from penstock.testing.run import run_topology
from penstock.topology.context import TaskContext
from penstock.topology.topology import Topology
from penstock.topology.tuples import tuple_class
from tests.connectors.driving import context

Word = tuple_class("count", "default", ("word", "count"))


def _open(
    folder: Path,
    *,
    by_epochs: bool = False,
    index: int = 0,
    count: int = 1,
    attempt: int = 0,
    checkpoint: str = "",
    **settings: Any,
) -> ParquetSink:
    sink = ParquetSink(folder, **settings)
    sink.by_epochs = by_epochs
    sink.open(msgspec.structs.replace(context(index, count), attempt=attempt, checkpoint=checkpoint))
    return sink


def _feed(sink: ParquetSink, *words: str) -> None:
    for word in words:
        sink.process(Word(word, len(word)))


def _rows(folder: Path) -> list[str]:
    """What a reader finds: files whose names do not hide them."""
    files = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    return sorted(word for file in files for word in pq.read_table(file)["word"].to_pylist())


def _hidden(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.name.startswith(".")]


def test_without_epochs_all_is_there_at_the_end(tmp_path: Path) -> None:
    sink = _open(tmp_path / "new" / "folder")
    _feed(sink, "blue", "red")
    assert _rows(tmp_path / "new" / "folder") == []
    sink.finish()
    table = pq.read_table(tmp_path / "new" / "folder")
    assert table.to_pylist() == [{"word": "blue", "count": 4}, {"word": "red", "count": 3}]
    sink.close()
    assert len(list((tmp_path / "new" / "folder").iterdir())) == 1


def test_without_epochs_a_file_appears_when_it_is_full(tmp_path: Path) -> None:
    sink = _open(tmp_path, rows_per_file=2)
    _feed(sink, "a", "b", "c")
    assert _rows(tmp_path) == ["a", "b"]
    sink.close()
    assert _rows(tmp_path) == ["a", "b", "c"]
    assert _hidden(tmp_path) == []


def test_a_sink_that_gets_nothing_writes_nothing(tmp_path: Path) -> None:
    sink = _open(tmp_path)
    assert sink.prepare() is None
    sink.finish()
    sink.close()
    assert list(tmp_path.iterdir()) == []


def test_rows_are_seen_when_they_are_committed_and_not_before(tmp_path: Path) -> None:
    sink = _open(tmp_path, by_epochs=True, rows_per_file=2)
    _feed(sink, "a", "b", "c")
    token = sink.prepare()
    assert token is not None
    assert len(token) == 2
    _feed(sink, "d")
    sink.finish()
    assert _rows(tmp_path) == []
    sink.commit(token)
    assert _rows(tmp_path) == ["a", "b", "c"]
    sink.commit(token)
    assert _rows(tmp_path) == ["a", "b", "c"]
    sink.close()
    assert _rows(tmp_path) == ["a", "b", "c"]
    assert _hidden(tmp_path) == []


def test_what_was_prepared_outlives_the_task_and_is_committed_by_another(tmp_path: Path) -> None:
    first = _open(tmp_path, by_epochs=True)
    _feed(first, "a")
    token = first.prepare()
    first.close()
    second = _open(tmp_path, by_epochs=True)
    second.recover([token])
    assert _rows(tmp_path) == ["a"]
    second.close()


def test_recovering_deletes_what_will_come_again(tmp_path: Path) -> None:
    sink = _open(tmp_path, by_epochs=True, rows_per_file=2)
    _feed(sink, "a")
    saved = sink.prepare()
    _feed(sink, "b")
    sink.prepare()  # in an epoch that was not committed
    _feed(sink, "c", "d", "e")  # a complete file, and rows that wait
    sink._write_group()  # and an open file
    sink.recover([saved])
    assert _rows(tmp_path) == ["a"]
    assert _hidden(tmp_path) == []
    _feed(sink, "f")
    token = sink.prepare()
    assert token is not None
    sink.commit(token)
    assert _rows(tmp_path) == ["a", "f"]
    sink.close()


def test_one_that_was_given_up_leaves_alone_what_its_successor_prepared(tmp_path: Path) -> None:
    slow = _open(tmp_path, by_epochs=True, attempt=1)
    successor = _open(tmp_path, by_epochs=True, attempt=2)
    successor.recover([])
    _feed(successor, "a")
    token = successor.prepare()
    assert token is not None
    slow.recover([])  # its process was stopped, and goes on only now
    successor.commit(token)
    assert _rows(tmp_path) == ["a"]
    slow.close()
    successor.close()


def test_tasks_that_are_no_more_are_taken_care_of_and_others_left_alone(tmp_path: Path) -> None:
    old = [_open(tmp_path, by_epochs=True, index=index, count=3) for index in range(3)]
    for index, sink in enumerate(old):
        _feed(sink, f"saved {index}")
    saved = [sink.prepare() for sink in old]
    for sink in old:
        _feed(sink, "lost")
        sink.prepare()
        sink.close()
    stranger = ParquetSink(tmp_path)
    stranger.by_epochs = True
    stranger.open(TaskContext(topology="another", component="c"))
    _feed(stranger, "stranger")
    token = stranger.prepare()
    stranger.close()

    for index in range(2):
        sink = _open(tmp_path, by_epochs=True, index=index, count=2)
        sink.recover([token for number, token in enumerate(saved) if number % 2 == index])
        sink.close()

    assert _rows(tmp_path) == ["saved 0", "saved 1", "saved 2"]
    assert token is not None
    assert [path.name for path in _hidden(tmp_path)] == [f".{token[0]}"]


def test_a_run_from_another_checkpoint_leaves_alone_what_the_first_still_owes(tmp_path: Path) -> None:
    first = _open(tmp_path, by_epochs=True, attempt=1, checkpoint="aa")
    _feed(first, "a")
    token = first.prepare()
    first.close()
    for checkpoint in ("bb", ""):
        other = _open(tmp_path, by_epochs=True, attempt=7, checkpoint=checkpoint)
        _feed(other, "lost")
        other.prepare()
        other.recover([])
        other.close()
    assert len(_hidden(tmp_path)) == 1
    again = _open(tmp_path, by_epochs=True, attempt=2, checkpoint="aa")
    again.recover([token])
    again.close()
    assert _rows(tmp_path) == ["a"]


# At the end of an epoch: how many rows it had, and whether it was committed, could not be saved, or the task died.
epochs = st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["committed", "not saved", "died"])), max_size=10)


@given(epochs, st.integers(1, 4))
def test_each_row_is_there_once_whatever_happens_between(
    tmp_path_factory: pytest.TempPathFactory, ends: list[tuple[int, str]], rows_per_file: int
) -> None:
    folder = tmp_path_factory.mktemp("epochs")
    sink = _open(folder, by_epochs=True, rows_per_file=rows_per_file)
    expected, since_saved, tokens = list[str](), list[str](), list[Any]()
    for epoch, (rows, end) in enumerate(ends):
        words = [f"{epoch}-{row}" for row in range(rows)]
        _feed(sink, *words)
        tokens.append(sink.prepare())
        since_saved += words
        if end == "committed":
            for token in tokens:
                if token is not None:
                    sink.commit(token)
            expected += since_saved
        elif end == "died":  # and goes on from the last that was committed, with nothing to commit again
            sink = _open(folder, by_epochs=True, rows_per_file=rows_per_file)
            sink.recover([])
        if end != "not saved":
            since_saved, tokens = [], []
    sink.close()
    assert _rows(folder) == sorted(expected)


def test_a_commit_that_cannot_be_says_what_is_missing(tmp_path: Path) -> None:
    sink = _open(tmp_path, by_epochs=True)
    _feed(sink, "a")
    token = sink.prepare()
    assert token is not None
    _hidden(tmp_path)[0].unlink()
    with pytest.raises(RunError, match=rf"sink 't\.c': wanted {tmp_path}/{token[0]}, or \.{token[0]} to rename, got"):
        sink.commit(token)
    sink.close()


def test_recovering_does_not_insist_on_a_file_that_a_reader_has_taken(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    sink = _open(tmp_path, by_epochs=True)
    _feed(sink, "a")
    token = sink.prepare()
    assert token is not None
    sink.commit(token)
    (tmp_path / token[0]).unlink()
    sink.recover([token])
    assert f"{tmp_path}/{token[0]} was committed or is now, but is not there any more" in caplog.text
    sink.close()


@pytest.mark.parametrize("workers", [1, 2])
def test_in_a_topology_every_line_is_in_a_file_of_its_task(tmp_path: Path, workers: int) -> None:
    topo = Topology("t")
    lines = topo.spout("lines", Lines([f"line {number}" for number in range(50)]), fields=("word",))
    topo.bolt("files", ParquetSink(tmp_path, rows_per_file=7), lines.shuffle(), tasks=2)
    run_topology(topo, workers=workers)
    assert _rows(tmp_path) == sorted(f"line {number}" for number in range(50))
    assert {path.name.split("-")[2] for path in tmp_path.iterdir()} == {"00000", "00001"}
    assert _hidden(tmp_path) == []


def test_a_rename_that_fails_says_why(tmp_path: Path) -> None:
    sink = _open(tmp_path, by_epochs=True)
    _feed(sink, "a")
    token = sink.prepare()
    assert token is not None
    (tmp_path / token[0] / "in the way").mkdir(parents=True)
    attempts: list[Callable[[], None]] = [lambda: sink.commit(token), lambda: sink.recover([token])]
    for attempt in attempts:
        with pytest.raises(
            RunError, match=rf"sink 't\.c': cannot rename {tmp_path}/\.{token[0]} to {tmp_path}/{token[0]}"
        ):
            attempt()
    assert len(_hidden(tmp_path)) == 1
    sink.close()


def test_a_schema_is_kept_to(tmp_path: Path) -> None:
    schema = pa.schema([("word", pa.string()), ("count", pa.float32())])
    sink = _open(tmp_path, schema=schema)
    sink.process(Word(None, 3))
    sink.close()
    assert pq.read_table(tmp_path).schema == schema


def test_many_rows_are_written_in_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_sink, "_ROWS_PER_GROUP", 10)
    sink = _open(tmp_path)
    _feed(sink, *(f"word {number:03d}" for number in range(95)))
    sink.close()
    (file,) = tmp_path.iterdir()
    assert pq.ParquetFile(file).num_row_groups == 10
    assert _rows(tmp_path) == [f"word {number:03d}" for number in range(95)]


def test_values_that_do_not_fit_end_the_run(tmp_path: Path) -> None:
    sink = _open(tmp_path, rows_per_file=1)
    sink.process(Word("a", 1))
    wanted = r"sink 't\.c': row \('b', 1\.5\): column 'count' takes int: .* the float 1\.5; .* were guessed"
    with pytest.raises(RunError, match=wanted):
        sink.process(Word("b", 1.5))
    with pytest.raises(RunError, match=r"row \('b', 'many'\): column 'count' takes int: .* got the str 'many'"):
        sink.process(Word("b", "many"))
    sink.close()
    other = _open(tmp_path, rows_per_file=2)
    other.process(Word("c", 1))
    with pytest.raises(RunError, match=r"sink 't\.c': column 'count': wanted values of one type, got others"):
        other.process(Word("d", "many"))
    other.close()
    assert _rows(tmp_path) == ["a"]


class Unspeakable:
    """Fits no column, and cannot even be shown."""

    def __repr__(self) -> str:
        raise KeyError


def test_a_value_that_cannot_be_shown_ends_the_run_too(tmp_path: Path) -> None:
    """Were it a failure of its own tuple alone, those that wait beside it would be missing."""
    sink = _open(tmp_path, rows_per_file=2)
    sink.process(Word("a", 1))
    with pytest.raises(RunError, match=r"sink 't\.c': .*Unspeakable"):
        sink.process(Word("b", Unspeakable()))
    sink.close()


def test_other_fields_end_the_run(tmp_path: Path) -> None:
    sink = _open(tmp_path)
    _feed(sink, "a")
    with pytest.raises(RunError, match=r"wanted fields \('word', 'count'\), which are its columns, got \('line',\)"):
        sink.process(tuple_class("lines", "default", ("line",))("x"))
    sink.close()


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"rows_per_file": 0}, "rows_per_file: wanted a whole number above 0, got 0"),
        ({"rows_per_file": 1.5}, "rows_per_file: wanted a whole number above 0, got 1.5"),
        ({"schema": "word string"}, "schema: wanted a pyarrow.Schema, got 'word string'"),
        (
            {"path": "gopher://me:secret@host/x"},
            "path: wanted a folder or a URL that pyarrow knows, got 'gopher://host",
        ),
    ],
)
def test_settings_are_checked_before_the_start(tmp_path: Path, settings: dict[str, Any], complaint: str) -> None:
    topo = Topology("t")
    lines = topo.spout("lines", Lines(["a"]))
    topo.bolt("good", ParquetSink(tmp_path), lines.shuffle())
    topo.check()
    topo.bolt("wrong", ParquetSink(**{"path": tmp_path, **settings}), lines.shuffle())
    with pytest.raises(TopologyError) as caught:
        topo.check()
    assert complaint in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("by_epochs", [False, True])
@pytest.mark.parametrize("rows_per_file", [400, 2000])
def test_a_full_disk_ends_the_run_and_leaves_no_half_file(
    small_disk: Path, by_epochs: bool, rows_per_file: int
) -> None:
    sink = _open(small_disk, by_epochs=by_epochs, rows_per_file=rows_per_file)
    with pytest.raises(RunError, match=r"sink 't\.c': cannot write .*No space left on device"):
        _feed(sink, *(os.urandom(1000).hex() for _ in range(2000)))
    sink.close()
    assert len(_rows(small_disk)) == (400 if rows_per_file == 400 and not by_epochs else 0)
    assert _hidden(small_disk) == []
