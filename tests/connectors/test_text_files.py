"""TextFiles: every line of every file once, whole, whoever reads it."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.connectors.text_files import TextFiles, pieces
from tests.connectors.driving import context, problems, rest, share

a_line = st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]), max_size=20)
a_file = st.tuples(st.lists(a_line, max_size=12), st.sampled_from(["\n", "\r\n"]), st.booleans())


@contextmanager
def folder_of(contents: list[bytes]) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        for number, content in enumerate(contents):
            Path(name, f"{number:03}.txt").write_bytes(content)
        yield Path(name)


def encoded(lines: list[str], line_break: str, ends: bool) -> tuple[bytes, list[tuple[str]]]:
    """A file, and the lines that are in it: a last one that is empty and has no line break is none."""
    text = line_break.join(lines) + (line_break if ends and lines else "")
    there = lines if ends or not lines or lines[-1] else lines[:-1]
    return text.encode(), [(line,) for line in there]


@given(st.lists(a_file, min_size=1, max_size=4), st.integers(1, 7))
def test_every_line_is_read_once_by_one_task(files: list[tuple[list[str], str, bool]], count: int) -> None:
    made = [encoded(*file) for file in files]
    with folder_of([content for content, _ in made]) as folder:
        shares = [share(TextFiles(folder / "*.txt"), index, count) for index in range(count)]
    assert list(itertools.chain(*shares)) == [line for _, lines in made for line in lines]


@given(st.lists(a_file, min_size=1, max_size=3), st.integers(1, 3), st.integers(0, 20))
def test_it_goes_on_where_it_was(files: list[tuple[list[str], str, bool]], count: int, read: int) -> None:
    with folder_of([encoded(*file)[0] for file in files]) as folder:
        first, second = TextFiles(folder / "*.txt"), TextFiles(folder / "*.txt")
        first.open(context(count - 1, count))
        before = rest(first, at_most=read) if read else []
        position = first.position()
        first.close()
        second.open(context(count - 1, count))
        second.seek(list(position))  # as it comes back from the wire
        assert before + rest(second) == share(TextFiles(folder / "*.txt"), count - 1, count)
        second.close()


@given(st.lists(st.integers(0, 100), max_size=6), st.integers(1, 9))
def test_the_shares_cover_every_byte_once(sizes: list[int], count: int) -> None:
    files = [(str(number), size) for number, size in enumerate(sizes)]
    shares = [pieces(files, index, count) for index in range(count)]
    covered = [
        (piece.path, byte)
        for piece in itertools.chain(*shares)
        for byte in range(piece.begin, dict(files)[piece.path] if piece.end is None else piece.end)
    ]
    assert covered == [(path, byte) for path, size in files for byte in range(size)]
    totals = [sum((dict(files)[p.path] if p.end is None else p.end) - p.begin for p in share) for share in shares]
    assert max(totals) - min(totals) <= 1


def test_a_large_file_is_read_in_small_bites(tmp_path: Path) -> None:
    lines = [f"line {number}" for number in range(20_000)]
    (tmp_path / "large.txt").write_text("\n".join(lines))
    spout = TextFiles(tmp_path / "large.txt")
    spout.open(context())
    assert 1 <= len(list(spout.next() or ())) < 2_000  # type: ignore[arg-type]
    spout.close()
    assert share(TextFiles(tmp_path / "large.txt")) == [(line,) for line in lines]


def test_a_line_that_is_longer_than_a_share_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("x" * 100_000 + "\nend\n")
    shares = [share(TextFiles(tmp_path / "*.txt"), index, 10) for index in range(10)]
    assert shares[0] == [("x" * 100_000,)]
    assert list(itertools.chain(*shares[1:])) == [("end",)]


def test_bytes_of_another_encoding_are_told_with_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "latin.txt"
    file.write_bytes(b"one\ntwo\ncaf\xe9\nfour\n")
    for index, count, lines in ((0, 1, ["one", "two", "four"]), (1, 3, [])):
        spout = TextFiles(file)
        spout.open(context(index, count))
        found: list[Any] = []
        errors = []
        while True:
            try:
                found.extend(list(spout.next() or ()))  # type: ignore[arg-type]
            except ValueError as error:
                errors.append(str(error))
            except StopIteration:
                break
        assert found == [(line,) for line in lines]
        assert errors == [f"{file}, line 3: wanted utf-8, got b'\\xe9' (invalid continuation byte)"]
        spout.close()
    assert share(TextFiles(file, encoding="latin-1"))[2] == ("café",)
    assert share(TextFiles(file, errors="replace"))[2] == ("caf\ufffd",)


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"\r", [""]),
        (b"\n\n", ["", ""]),
        (b"a\r\n\r\nb\r", ["a", "", "b"]),
        (b"a\rb\n\rc", ["a\rb", "\rc"]),
        (b"a\r\r\n", ["a\r"]),
        ("a\u2028b\x0bc\x85d\n".encode(), ["a\u2028b\x0bc\x85d"]),
    ],
)
def test_a_line_ends_at_a_line_break_and_nowhere_else(tmp_path: Path, content: bytes, lines: list[str]) -> None:
    (tmp_path / "a.txt").write_bytes(content)
    assert share(TextFiles(tmp_path / "a.txt")) == [(line,) for line in lines]


def test_a_byte_order_mark_can_be_taken_off(tmp_path: Path) -> None:
    (tmp_path / "bom.txt").write_bytes(b"\xef\xbb\xbfone\ntwo\n")
    spout = TextFiles(tmp_path / "bom.txt", encoding="utf-8-sig")
    assert problems(spout) == []
    assert share(spout) == [("one",), ("two",)]
    text = "x" * 10_000 + "\n\ufeffelsewhere\n"  # so that it begins a block
    (tmp_path / "bom.txt").write_text(text)
    assert share(TextFiles(tmp_path / "bom.txt", encoding="utf-8-sig"))[1] == ("\ufeffelsewhere",)


def test_a_file_that_grew_is_read_to_its_end(tmp_path: Path) -> None:
    file = tmp_path / "log.txt"
    file.write_text("one\n")
    spout = TextFiles(file)
    file.write_text("one\ntwo\n")
    assert share(spout) == [("one",), ("two",)]


def test_patterns_find_files_in_folders_and_only_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "deep.txt").write_text("deep\n")
    (tmp_path / "a" / "not.txt").mkdir()
    (tmp_path / "top.txt").write_text("top\n")
    monkeypatch.chdir(tmp_path)
    spout = TextFiles("**/*.txt")
    monkeypatch.chdir("/")  # where a worker is
    assert share(spout) == [("deep",), ("top",)]
    assert repr(spout) == "TextFiles('**/*.txt')"


def test_no_file_is_a_problem(tmp_path: Path) -> None:
    assert problems(TextFiles(tmp_path / "*.txt")) == [
        f"TextFiles: wanted files, found none for '{tmp_path}/*.txt' in {Path.cwd()}"
    ]


@pytest.mark.parametrize(
    ("encoding", "wanted"),
    [
        ("utf-16", "TextFiles: encoding: wanted one in which a line break is the byte 0x0a, got 'utf-16'"),
        ("utf-16-be", "TextFiles: encoding: wanted one in which a line break is the byte 0x0a, got 'utf-16-be'"),
        ("klingon", "TextFiles: encoding: wanted one that Python knows, got 'klingon'"),
    ],
)
def test_an_encoding_has_to_show_its_lines(tmp_path: Path, encoding: str, wanted: str) -> None:
    (tmp_path / "a.txt").write_text("x")
    assert problems(TextFiles(tmp_path / "a.txt", encoding=encoding)) == [wanted]
    assert problems(TextFiles(tmp_path / "a.txt", encoding="cp1252"), tasks=3) == []


def test_a_line_is_one_field(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    wanted = "TextFiles: wanted 1 field, for the line, got ('a', 'b')"
    assert problems(TextFiles(tmp_path / "a.txt"), fields=("a", "b")) == [wanted]
    assert problems(TextFiles(tmp_path / "a.txt"), fields=("sentence",)) == []


def test_a_file_that_is_not_on_the_worker_is_told_when_it_opens(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("x")
    spout = TextFiles(file)
    file.unlink()
    assert problems(spout) == [f"TextFiles: {file} is not readable"]
    with pytest.raises(FileNotFoundError, match=r"a\.txt is not readable on worker 0, which has a share of it"):
        spout.open(context())


def test_it_can_be_replayed() -> None:
    assert TextFiles.is_replayable()
