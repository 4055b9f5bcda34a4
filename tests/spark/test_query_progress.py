"""Which checkpoints of a run and of the query that feeds it belong together."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.checkpoint.manifest import FeedMark
from penstock.spark.query_progress import QueryProgress, misfit

BATCHES = 5
# For each micro-batch: Spark plans it, the run takes charge of it, Spark takes it for done.
HISTORY = [(what, batch) for batch in range(BATCHES) for what in ("planned", "taken", "done")]
moments = st.integers(0, len(HISTORY))


def _newest(what: str, moment: int) -> int:
    return max((batch for event, batch in HISTORY[:moment] if event == what), default=-1)


@given(query_at=moments, run_at=st.integers(2, len(HISTORY)))
def test_a_query_is_refused_if_rows_would_be_lost_or_missing(query_at: int, run_at: int) -> None:
    """Checkpoints of the two as they were at any moments of one history."""
    progress = QueryProgress(query="q", planned=_newest("planned", query_at), done=_newest("done", query_at))
    mark = FeedMark(query="q", batch=_newest("taken", run_at))
    begins_with = progress.planned if progress.planned != progress.done else progress.done + 1
    # What was not planned is planned anew, with whatever rows there are then; if the number is known, it is dropped.
    lost = [batch for batch in range(begins_with, mark.batch + 1) if batch > progress.planned]
    missing = [*range(mark.batch + 1, begins_with)]
    assert (misfit(mark, progress) is not None) == bool(lost or missing)


def test_a_crash_between_the_two_does_not_part_them() -> None:
    for moment in range(2, len(HISTORY) + 1):
        progress = QueryProgress(query="q", planned=_newest("planned", moment), done=_newest("done", moment))
        assert misfit(FeedMark(query="q", batch=_newest("taken", moment)), progress) is None


def test_another_query_is_refused_and_one_that_never_ran() -> None:
    progress = QueryProgress(query="q", planned=7, done=7)
    assert misfit(FeedMark(query="another", batch=7), progress) == "it is that of query q"
    assert misfit(FeedMark(query="", batch=7), progress) is None, "one that had no rows does not know its query"
    assert "begin with 0 again" in str(misfit(FeedMark(query="q", batch=7), QueryProgress()))
