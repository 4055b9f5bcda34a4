"""The source that tests end when they are done, whoever of its lives looks when."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from tests.endless import End, NumbersUntilTold


def emitted(spout: NumbersUntilTold) -> list[int]:
    """All that it still has."""
    found: list[int] = []
    with contextlib.suppress(StopIteration):
        while True:
            found += [number for (number,) in spout.next()]
    return found


def test_it_ends_after_as_many_more_as_it_was_told(tmp_path: Path) -> None:
    end = End(tmp_path)
    spout = NumbersUntilTold(end)
    before = [number for _ in range(3) for (number,) in spout.next()]
    end.tell(more=120)
    assert [*before, *emitted(spout)] == [*range(len(before) + 120)]
    assert end.count == len(before) + 120


@pytest.mark.parametrize("stopped_one_first", [True, False])
def test_all_lives_of_a_source_agree_on_the_end_that_is_furthest(tmp_path: Path, stopped_one_first: bool) -> None:
    end = End(tmp_path)
    stopped, heir = NumbersUntilTold(end), NumbersUntilTold(end)
    stopped.seek(100)
    heir.seek(1_000)
    end.tell()
    for spout in (stopped, heir) if stopped_one_first else (heir, stopped):
        emitted(spout)
    assert end.count == 1_000
    after_a_rewind = NumbersUntilTold(end)
    after_a_rewind.seek(700)
    assert emitted(after_a_rewind) == [*range(700, 1_000)]
