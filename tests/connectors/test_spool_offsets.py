"""Offsets of a spool: they only grow, and name every file once, whatever a listing misses."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.connectors.spool_offsets import Numbered, Offset, Writer, advanced, files_between, is_behind, shortened


def writer(task: int, generation: int, process: str = "aa") -> Writer:
    return Writer(task=task, generation=generation, attempt=7, process=process)


def test_a_writer_is_named_and_found_by_its_name() -> None:
    assert str(writer(3, 12)) == "00003-00000012-7-aa"
    assert Writer.parse("00003-00000012-7-aa") == writer(3, 12)
    assert Writer.parse("3-12-7-aa") is None
    assert Writer.parse("00003-00000012-7-aa-1") is None


# Each step, a task shows its next file, or has a new writer that goes on.
steps = st.lists(st.tuples(st.integers(0, 2), st.booleans()), max_size=40)


def appearance(plan: list[tuple[int, bool]]) -> list[Numbered]:
    """Files in the order in which they appear."""
    generations, numbers = Counter[int](), Counter[int]()
    files = []
    for task, anew in plan:
        if anew or not generations[task]:
            generations[task] += 1
            numbers[task] = 0
        files.append((writer(task, generations[task]), numbers[task]))
        numbers[task] += 1
    return files


@given(steps, st.data())
def test_every_file_is_read_once_in_its_order_whatever_listings_miss(
    plan: list[tuple[int, bool]], data: st.DataObject
) -> None:
    files = appearance(plan)

    def listing(begun: int, over: int) -> list[Numbered]:
        """One during which some files appear: they may be missed, each of them."""
        return files[:begun] + [file for file in files[begun:over] if data.draw(st.booleans())]

    offset: Offset = {}
    read: list[Numbered] = []
    now = 0
    while now < len(files):
        times = sorted(data.draw(st.lists(st.integers(now, len(files)), min_size=3, max_size=3)))
        now = times[-1]
        end = advanced(offset, listing(times[0], times[1]), listing(times[1], times[2]))
        batch = list(files_between(offset, end))
        assert all(not is_behind(offset, file) for file in batch)
        assert all(is_behind(end, file) for file in [*read, *batch])
        read += batch
        offset = end
    end = advanced(offset, files, files)
    read += files_between(offset, end)
    assert sorted(read) == sorted(files)
    for task in range(3):
        assert [file for file in read if file[0].task == task] == [file for file in files if file[0].task == task]
    assert len(advanced(end, files, files)) <= 3
    assert advanced(end, files, files) == advanced(end, [], [])


@given(steps, st.integers(1, 5), st.booleans())
def test_a_limit_divides_what_is_there_and_tasks_take_turns(
    plan: list[tuple[int, bool]], most: int, bytes_count: bool
) -> None:
    files = appearance(plan)
    sizes = {file: 10 + number % 3 for number, file in enumerate(files)}
    offset: Offset = {}
    read: list[Numbered] = []
    while any(files_between(offset, end := advanced(offset, files, files))):
        limit = (
            {"most_files": None, "most_bytes": 11 * most} if bytes_count else {"most_files": most, "most_bytes": None}
        )
        end = shortened(offset, end, sizes, **limit)
        batch = list(files_between(offset, end))
        left = [file for file in files if file not in read]
        assert batch
        if bytes_count:
            assert len(batch) == 1 or sum(sizes[file] for file in batch) <= 11 * most
        else:
            assert len(batch) == min(most, len(left))
        assert all(not is_behind(offset, file) for file in batch)
        counts = Counter(file[0].task for file in batch)
        rest = Counter(file[0].task for file in left if file not in batch)
        for task in rest:  # who has more to give has had its turns
            assert counts[task] >= max(counts.values()) - 1
        read += batch
        offset = end
    assert sorted(read) == sorted(files)
    for task in range(3):
        assert [file for file in read if file[0].task == task] == [file for file in files if file[0].task == task]


@given(steps)
def test_what_was_cleaned_changes_nothing(plan: list[tuple[int, bool]]) -> None:
    files = appearance(plan)
    middle = advanced({}, files[: len(files) // 2], files[: len(files) // 2])
    left = [file for file in files if not is_behind(middle, file)]
    assert advanced(middle, left, left) == advanced(middle, files, files)


def test_two_that_opened_in_the_same_instant_are_both_read() -> None:
    one, other = writer(0, 1, "aa"), writer(0, 1, "bb")
    end = advanced({}, [(other, 0)], [(other, 0)])
    files = [(other, 0), (one, 0), (one, 1)]
    assert list(files_between(end, advanced(end, files, files))) == [(one, 0), (one, 1)]


def test_what_a_writer_shows_after_its_successor_is_left_out() -> None:
    end = advanced({}, [(writer(0, 2), 0)], [(writer(0, 2), 0)])
    late = [(writer(0, 1), 0), (writer(0, 2), 0)]
    assert advanced(end, late, late) == end
    assert is_behind(end, late[0])


def test_a_file_that_is_missing_for_good_is_told_of() -> None:
    files = [(writer(0, 1), 0), (writer(0, 1), 2)]
    assert list(files_between({}, advanced({}, files, files))) == [(writer(0, 1), 0)]  # it may come yet
    files.append((writer(0, 2), 0))
    with pytest.raises(ValueError, match="00000-00000001-7-aa: wanted its file 1, got none, but file 2"):
        advanced({}, files, files)


@pytest.mark.parametrize("offset", [{"0": 3}, {"00000-00000001-0-aa": "many"}])
def test_an_offset_of_something_else_is_refused(offset: Offset) -> None:
    with pytest.raises(ValueError, match="wanted writers and numbers of files, got"):
        advanced(offset, [], [])
