"""How often a key came so far: one row out for each row in, rows exchanged by key, a state for each."""

from collections.abc import Iterator
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout

import penstock as ps
from bench.frames.contestant import Contestant, Query, Table
from bench.frames.session import SLOTS

RECORD_BOLT = "transform, record bolt"
APPLY = "applyInPandasWithState"
PROCESSOR = "transformWithState"
PANDAS_PROCESSOR = "transformWithStateInPandas"
_SCHEMA = "sensor long, so_far long"


class Count(ps.KeyedBolt):
    """Row by row."""

    fields = ("sensor", "so_far")

    def process(self, key: Any, tup: ps.Tuple) -> tuple[int, int]:  # noqa: ARG002
        so_far = self.state[key] = self.state.get(key, 0) + 1
        return key, so_far


def _transform(frame: DataFrame) -> DataFrame:
    topology = ps.Topology("running")
    readings = topology.spout("readings", ps.FromFrame("sensor", "celsius"))
    topology.bolt("count", Count(), readings.by("sensor"), tasks=SLOTS)
    return ps.transform(topology, {"readings": frame}, output="count", schema=_SCHEMA, workers=SLOTS)


def _apply(stream: DataFrame) -> DataFrame:
    def work(key: tuple[int], parts: Iterator[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
        (so_far,) = state.get if state.exists else (0,)
        for part in parts:
            yield _numbered(key[0], so_far, len(part))
            so_far += len(part)
        state.update((so_far,))

    keyed = stream.groupBy("sensor")
    return keyed.applyInPandasWithState(work, _SCHEMA, "so_far long", "append", GroupStateTimeout.NoTimeout)


class _Counting(StatefulProcessor):  # type: ignore[misc]
    def init(self, handle: StatefulProcessorHandle) -> None:
        self.so_far = handle.getValueState("so_far", "so_far long")

    def close(self) -> None:
        pass

    def so_far_of(self) -> int:
        found = self.so_far.get()
        return 0 if found is None else int(found[0])


class CountRows(_Counting):
    """Row by row."""

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: ARG002
        so_far = self.so_far_of()
        for _ in rows:
            so_far += 1
            yield Row(sensor=key[0], so_far=so_far)
        self.so_far.update((so_far,))


class CountParts(_Counting):
    """A pandas DataFrame at a time."""

    def handleInputRows(
        self,
        key: Any,
        rows: Iterator[pd.DataFrame],
        timerValues: Any,  # noqa: ARG002
    ) -> Iterator[pd.DataFrame]:
        so_far = self.so_far_of()
        for part in rows:
            yield _numbered(key[0], so_far, len(part))
            so_far += len(part)
        self.so_far.update((so_far,))


def _numbered(sensor: int, so_far: int, more: int) -> pd.DataFrame:
    return pd.DataFrame({"sensor": sensor, "so_far": range(so_far + 1, so_far + more + 1)})


def by_spark(frame: DataFrame) -> DataFrame:
    """The right answer. Which row is counted first is open."""
    return frame.selectExpr("sensor", "CAST(row_number() OVER (PARTITION BY sensor ORDER BY 1) AS LONG) AS so_far")


RUNNING: tuple[Contestant, ...] = (
    Table(RECORD_BOLT, _transform),
    Query(APPLY, _apply),
    Query(PROCESSOR, lambda s: s.groupBy("sensor").transformWithState(CountRows(), _SCHEMA, "append", "none")),
    Query(
        PANDAS_PROCESSOR,
        lambda s: s.groupBy("sensor").transformWithStateInPandas(CountParts(), _SCHEMA, "append", "none"),
    ),
)
