"""When markers are sent."""

from __future__ import annotations

import pytest

from penstock.control.epochs import Epochs


def begun_at(epochs: Epochs, *, first_ms: int, last_ms: int, awaited: bool) -> list[int]:
    return [ms for ms in range(first_ms, last_ms) if epochs.due(ms / 1000, awaited=awaited) is not None]


def test_an_epoch_begins_as_often_as_is_wanted() -> None:
    epochs = Epochs(every_s=1.0)
    assert begun_at(epochs, first_ms=0, last_ms=3500, awaited=False) == [1000, 2000, 3000]
    assert epochs.due(4.0) == 4


def test_one_that_is_awaited_begins_soon_and_others_with_longer_pauses() -> None:
    epochs = Epochs(every_s=1.0)
    assert begun_at(epochs, first_ms=0, last_ms=500, awaited=False) == []
    soon = begun_at(epochs, first_ms=500, last_ms=4500, awaited=True)
    assert soon == pytest.approx([500, 540, 620, 780, 1100, 1740, 2740, 3740], abs=5)
    assert begun_at(epochs, first_ms=4500, last_ms=5000, awaited=False) == pytest.approx([4740], abs=5)
    assert begun_at(epochs, first_ms=5000, last_ms=5010, awaited=True) == [5000], (
        "the next one that waits is not the last"
    )


def test_one_that_is_hurried_begins_at_once_and_the_next_one_as_usual() -> None:
    epochs = Epochs(every_s=1.0)
    assert begun_at(epochs, first_ms=0, last_ms=1500, awaited=False) == [1000]
    epochs.hurry()
    assert begun_at(epochs, first_ms=1500, last_ms=3000, awaited=False) == [1500, 2500]
