import pytest

from bench.stats import Distribution, Spread, percentile, ratios


@pytest.mark.parametrize(
    ("fraction", "expected"),
    [(0.0, 1), (0.5, 50), (0.99, 99), (0.991, 100), (1.0, 100)],
)
def test_percentile_is_the_smallest_value_that_enough_others_do_not_exceed(fraction: float, expected: int) -> None:
    assert percentile(range(1, 101), fraction) == expected


def test_percentile_of_a_single_value() -> None:
    assert percentile([7], 0.5) == percentile([7], 0.99) == 7


def test_distribution_does_not_depend_on_the_order() -> None:
    assert Distribution.of([3, 1, 2, 10]) == Distribution(mean=4.0, p50=2, p99=10, p999=10, highest=10)


def test_spread_is_the_median_between_the_extremes() -> None:
    assert Spread.over([5.0, 1.0, 9.0]) == Spread(median=5.0, lowest=1.0, highest=9.0)
    assert Spread.over(iter([1.0, 2.0])).median == 1.5


def test_ratios_only_where_both_were_measured() -> None:
    assert ratios({"a": 1.0, "b": 3.0}, {"b": 2.0, "c": 5.0}) == {"b": 1.5}
