"""Who has less gives way, and never for long."""

from hypothesis import given
from hypothesis import strategies as st

from penstock.flow.giving_way import GivingWay

INTERVAL = 10

looks = st.lists(st.tuples(st.integers(1, 5), st.integers(0, 100), st.integers(0, 100)), min_size=1, max_size=200)


@given(looks)
def test_the_largest_goes_and_nobody_waits_for_longer_than_an_interval(looks: list[tuple[int, int, int]]) -> None:
    giving, now, waits_since = GivingWay(INTERVAL), 0, None
    for later, own, others in looks:
        now += later
        if giving.may_go(own, others, now):
            waits_since = None
        else:
            assert own < others
            waits_since = now if waits_since is None else waits_since
            assert now - waits_since < INTERVAL


@given(st.lists(st.integers(0, 50), min_size=2, max_size=5))
def test_somebody_may_go_at_any_time(backlogs: list[int]) -> None:
    workers = [GivingWay(INTERVAL) for _ in backlogs]
    for now in range(100):
        goes = [
            giving.may_go(own, max(backlogs[:number] + backlogs[number + 1 :]), now)
            for number, (giving, own) in enumerate(zip(workers, backlogs, strict=True))
        ]
        assert any(goes)


def test_who_has_less_goes_for_an_interval_after_it_has_waited_for_one() -> None:
    giving = GivingWay(INTERVAL)
    assert [giving.may_go(1, 2, now) for now in range(0, 40, 5)] == [False, False, True, True] * 2


def test_without_an_interval_nobody_waits() -> None:
    assert GivingWay(0).may_go(1, 2, 0)
