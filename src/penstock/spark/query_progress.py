"""Whether the checkpoint of a run and that of a query that feeds it belong together, found out before anything starts.

The run's checkpoint has the last micro-batch that it was fed: its query, and its number. Spark's has the id of the
query, which micro-batches it has planned (``offsets``), and which are done (``commits``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from penstock.checkpoint.manifest import FeedMark
from penstock.connectors.folder import without_secrets
from penstock.connectors.streaming_frame import StreamingFrame
from penstock.errors import CheckpointError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["QueryProgress", "misfit", "require_fitting_queries"]

_GLOB = re.compile(r"[\[\]{}*?\\]")


class QueryProgress(msgspec.Struct, frozen=True, kw_only=True):
    """How far a query has come, as its checkpoint says."""

    query: str | None = None
    """Its id; None if it was never started with this checkpoint."""
    planned: int = -1
    """The newest micro-batch that it knows the extent of; -1 if there is none."""
    done: int = -1
    """The newest that was taken for done; -1 if there is none."""

    @property
    def next_batch(self) -> int:
        """The micro-batch that its next start begins with."""
        return self.planned if self.planned > self.done else self.done + 1


def misfit(mark: FeedMark, progress: QueryProgress) -> str | None:
    """What keeps a query from feeding a run that has had its micro-batches up to `mark`; None if nothing does."""
    if progress.query is None:
        return "it is empty, so that its micro-batches would begin with 0 again"
    if mark.query not in ("", progress.query):
        return f"it is that of query {progress.query}"
    if progress.planned < mark.batch:
        # It would plan that one anew, with other rows, and the run would drop them as known.
        return f"it is older, and ends with micro-batch {progress.planned}"
    if progress.next_batch > mark.batch + 1:
        return f"it goes on with micro-batch {progress.next_batch}: those between were fed to another run"
    return None


def require_fitting_queries(
    spark: SparkSession, frames: Mapping[str, StreamingFrame], marks: Mapping[str, FeedMark]
) -> None:
    """CheckpointError if a run that goes on from these marks cannot be fed by the queries of these frames."""
    for name, mark in marks.items():
        if name not in frames:
            continue
        place = frames[name].checkpoint
        reason = misfit(mark, _progress_in(spark, place))
        if reason is not None:
            message = (
                f"StreamingFrame {name!r}: the run's checkpoint has micro-batches up to {mark.batch} of query "
                f"{mark.query or 'unknown'}: wanted the checkpoint that this query had then, got "
                f"{without_secrets(place)}, but {reason}. Put it back; or, to begin anew, give both anew"
            )
            raise CheckpointError(message)


def _progress_in(spark: SparkSession, checkpoint: str) -> QueryProgress:
    from pyspark.errors import AnalysisException

    from penstock.spark.spark_version import condition_of

    place = _GLOB.sub(r"\\\g<0>", checkpoint)
    # By Spark itself, which alone is known to reach it. All of them are made when a query first starts.
    places = [f"{place}/{name}" for name in ("metadata", "offsets", "commits")]
    try:
        found = spark.read.format("binaryFile").load(places).select("path", "content").collect()
    except AnalysisException as error:
        if condition_of(error) == "PATH_NOT_FOUND":
            return QueryProgress()
        raise
    content = {tuple(row.path.rsplit("/", maxsplit=2)[1:]): bytes(row.content) for row in found}
    return QueryProgress(
        query=next((json.loads(about)["id"] for (_, name), about in content.items() if name == "metadata"), None),
        planned=_newest(content, "offsets"),
        done=_newest(content, "commits"),
    )


def _newest(content: Mapping[tuple[str, ...], bytes], folder: str) -> int:
    return max((int(name) for where, name in content if where == folder and name.isdecimal()), default=-1)
