from bench.frames import by_key, each_row, running
from bench.frames.contest import Rate
from bench.frames.goals import frames_goals
from bench.stats import Spread


def _rates(**medians: float) -> list[Rate]:
    return [Rate(name=name, rows_per_s=Spread.over([median])) for name, median in medians.items()]


def test_goals_compare_with_the_peer_of_the_same_work() -> None:
    rates = {
        "each row": _rates(
            **{each_row.RECORD_BOLT: 8.0, each_row.UDF: 4.0, each_row.BATCH_BOLT: 7.0, each_row.ARROW: 10.0}
        ),
        "by key": _rates(**{by_key.BATCH_BOLT: 3.0, by_key.PANDAS: 2.0}),
        "running": _rates(**{running.RECORD_BOLT: 3.0, running.APPLY: 6.0}),
    }
    found = {goal.name: (goal.value, goal.holds) for goal in frames_goals(rates)}
    assert found["record_bolt_over_row_at_a_time_udf"] == (2.0, True)
    assert found["batch_bolt_over_map_in_arrow"] == (0.7, False)
    assert found["batch_bolt_by_key_over_apply_in_pandas"] == (1.5, True)
    assert found["running_counts_over_applyInPandasWithState"] == (0.5, False)


def test_what_was_left_out_is_not_measured() -> None:
    assert all(goal.value is None and not goal.holds for goal in frames_goals({"each row": []}))
