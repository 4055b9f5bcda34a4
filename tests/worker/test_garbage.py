"""The collector: off the hot path, and given back."""

import gc
from collections.abc import Iterator

import pytest

from penstock.worker.garbage import BUSY_EVERY_NS, IDLE_EVERY_NS, GarbageKeeper


@pytest.fixture
def collections(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    seen: list[int] = []
    collect = gc.collect

    def watched(generation: int = 2) -> int:
        seen.append(generation)
        return collect(generation)

    monkeypatch.setattr(gc, "collect", watched)
    yield seen
    gc.unfreeze()
    gc.enable()


def test_the_collector_is_taken_over_and_given_back(collections: list[int]) -> None:
    keeper = GarbageKeeper(0)
    assert not gc.isenabled()
    assert gc.get_freeze_count() > 0
    assert collections == [2]
    keeper.close()
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


def test_it_runs_when_idle_and_only_seldom_when_busy(collections: list[int]) -> None:
    keeper = GarbageKeeper(0)
    del collections[:]
    keeper.idle(IDLE_EVERY_NS - 1)
    keeper.busy(BUSY_EVERY_NS - 1)
    assert collections == []
    keeper.idle(IDLE_EVERY_NS)
    assert len(collections) == 1
    keeper.busy(IDLE_EVERY_NS + BUSY_EVERY_NS)
    assert len(collections) == 2
    assert 2 not in collections
