"""What is wanted of transform."""

from collections.abc import Mapping, Sequence

from bench.frames import by_key, each_row, running
from bench.frames.contest import Rate
from bench.report import Goal


def frames_goals(rates: Mapping[str, Sequence[Rate]]) -> tuple[Goal, ...]:
    """Each with what was measured; `rates` by the name of the work."""
    rows, keys, counts = (
        {rate.name: rate.rows_per_s.median for rate in rates.get(work, ())}
        for work in ("each row", "by key", "running")
    )
    return (
        Goal(
            name="record_bolt_over_row_at_a_time_udf",
            value=_ratio(rows, each_row.RECORD_BOLT, each_row.UDF),
            comparison=">=",
            limit=1.0,
        ),
        Goal(
            name="record_bolt_over_pickled_row_at_a_time_udf",
            value=_ratio(rows, each_row.RECORD_BOLT, each_row.PICKLED_UDF),
            comparison=">=",
            limit=1.0,
        ),
        Goal(
            name="batch_bolt_over_map_in_arrow",
            value=_ratio(rows, each_row.BATCH_BOLT, each_row.ARROW),
            comparison=">=",
            limit=0.95,
        ),
        Goal(
            name="batch_bolt_by_key_over_apply_in_pandas",
            value=_ratio(keys, by_key.BATCH_BOLT, by_key.PANDAS),
            comparison=">=",
            limit=1.0,
        ),
        *(
            Goal(
                name=f"running_counts_over_{peer}",
                value=_ratio(counts, running.RECORD_BOLT, peer),
                comparison=">=",
                limit=1.0,
            )
            for peer in (running.APPLY, running.PROCESSOR, running.PANDAS_PROCESSOR)
        ),
    )


def _ratio(rates: Mapping[str, float], ours: str, theirs: str) -> float | None:
    return rates[ours] / rates[theirs] if ours in rates and theirs in rates else None
