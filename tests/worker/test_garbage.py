"""The collector: off the hot path, and given back."""

import gc
from collections.abc import Iterator

import pytest

from penstock.worker import garbage
from penstock.worker.garbage import BUSY_EVERY_NS, IDLE_EVERY_NS, GarbageKeeper

YOUNG, ALL = 1, 2


class Collector:
    """Watches collections, each of which takes as long as one says."""

    def __init__(self) -> None:
        self.now_ns = 0
        self.takes_ns = 0
        self.seen: list[int] = []

    def collect(self, generation: int = 2) -> int:
        self.seen.append(generation)
        self.now_ns += self.takes_ns
        return 0

    def seen_since(self) -> list[int]:
        seen, self.seen = self.seen, []
        return seen


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    watched = Collector()
    monkeypatch.setattr(gc, "collect", watched.collect)
    yield watched
    gc.unfreeze()
    gc.enable()


@pytest.fixture
def keeper(collector: Collector) -> GarbageKeeper:
    return GarbageKeeper(lambda: collector.now_ns)


def test_the_collector_is_taken_over_and_given_back(collector: Collector, keeper: GarbageKeeper) -> None:
    assert not gc.isenabled()
    keeper.settle()
    assert gc.get_freeze_count() > 0
    assert collector.seen == [ALL]
    keeper.close()
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


def test_who_does_not_stay_long_keeps_garbage_instead_of_looking_for_it(
    collector: Collector, keeper: GarbageKeeper
) -> None:
    keeper.freeze()
    assert gc.get_freeze_count() > 0
    assert collector.seen == []
    keeper.close()
    assert gc.get_freeze_count() == 0


def test_it_runs_when_idle_and_only_seldom_when_busy(collector: Collector, keeper: GarbageKeeper) -> None:
    collector.now_ns = IDLE_EVERY_NS[YOUNG] - 1
    keeper.idle(collector.now_ns)
    assert collector.seen_since() == []
    collector.now_ns += 1
    keeper.busy(collector.now_ns)
    assert collector.seen_since() == []
    keeper.idle(collector.now_ns)
    assert collector.seen_since() == [YOUNG]
    collector.now_ns += BUSY_EVERY_NS[YOUNG]
    keeper.busy(collector.now_ns)
    assert collector.seen_since() == [YOUNG]


def test_all_is_collected_in_the_end_also_under_load(collector: Collector, keeper: GarbageKeeper) -> None:
    collector.now_ns = IDLE_EVERY_NS[ALL]
    keeper.idle(collector.now_ns)
    assert collector.seen_since() == [ALL]
    for _ in range(BUSY_EVERY_NS[ALL] // BUSY_EVERY_NS[YOUNG]):
        collector.now_ns += BUSY_EVERY_NS[YOUNG]
        keeper.busy(collector.now_ns)
    assert collector.seen_since().count(ALL) == 1


def test_what_takes_long_is_done_seldom(collector: Collector, keeper: GarbageKeeper) -> None:
    collector.takes_ns = 2 * IDLE_EVERY_NS[ALL]
    collector.now_ns = IDLE_EVERY_NS[ALL]
    keeper.idle(collector.now_ns)
    began_ns = collector.now_ns
    collector.seen_since()
    collector.takes_ns, step_ns = 0, IDLE_EVERY_NS[ALL]
    while ALL not in collector.seen:
        collector.now_ns += step_ns
        keeper.idle(collector.now_ns)
    assert 2 * IDLE_EVERY_NS[ALL] <= (collector.now_ns - began_ns) * garbage.MOST_SHARE + step_ns
