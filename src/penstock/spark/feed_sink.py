"""The sink of a query that feeds a run: `write` in executors pushes rows, `commit` on the driver's machine waits.

Spark makes a writer for each micro-batch, in processes of its own. It remembers nothing: who is in charge of which
micro-batch the run's controller knows (see penstock.control.feeding for who says what).
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa
from pyspark import TaskContext

from penstock.control.admin import AdminClient
from penstock.control.asking import Answer, NotNow
from penstock.control.feeding import AskGrant, AskHolds, AskTaken, FeedQuestion, Grant, Taken, WrittenPart
from penstock.errors import RingError, RunError
from penstock.spark.feed_ticket import FeedTicket
from penstock.spark.node import node_identity
from penstock.transport.frames import FrameKind
from penstock.transport.links import LinkSender
from penstock.transport.ring import Route
from penstock.worker.batches import batch_to_payload
from penstock.worker.peers import way_to

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage
else:
    try:
        from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage
    except ImportError:  # before Spark 4.1, where `feeding` does what Spark does later
        DataSourceStreamArrowWriter = WriterCommitMessage = object

__all__ = ["FeedSink", "feeding"]

_ASK_AGAIN_S = 0.003
_FULL_WAIT_S = 0.0005
_LOOK_AFTER_S = 0.5
"""How often one that waits for room asks whether its rows are still wanted."""
_MOST_BYTES = 256 << 10
"""Record batches are cut to about this, so that several fit into the ring and a slow topology has little to hold."""
_LINGER_S = 5.0


@dataclass
class PushedPart(WriterCommitMessage):  # type: ignore[misc]
    """What a task of Spark's has pushed of a micro-batch."""

    query: str
    query_run: str
    grant: int
    """0: it had no rows, or nobody wanted them."""
    rows: int
    broken: str = ""
    """Why not all of them could be pushed."""


class FeedSink(DataSourceStreamArrowWriter):  # type: ignore[misc]
    """Pushes micro-batches to a run."""

    def __init__(self, ticket: FeedTicket) -> None:
        self._ticket = ticket

    def write(self, iterator: Iterator[pa.RecordBatch]) -> PushedPart:
        """Pushes the rows of one partition, in an executor.

        If that cannot be done it is `commit` that fails: Spark would try a task that fails again, and again, where only
        another start of the query is of use.
        """
        context = TaskContext.get()
        assert context is not None, "Spark writes in tasks"
        part = PushedPart(
            query=_property(context, "sql.streaming.queryId"),
            query_run=_property(context, "spark.jobGroup.id"),  # a query's jobs are in a group of this name
            grant=0,
            rows=0,
        )
        try:
            self._push(iterator, part, context)
        except RunError as error:
            part.broken = str(error)
        return part

    def _push(self, iterator: Iterator[pa.RecordBatch], part: PushedPart, context: TaskContext) -> None:
        with contextlib.ExitStack() as resources:
            way: _Way | None = None
            for batch in iterator:
                if not batch.num_rows:
                    continue
                if way is None:
                    line = resources.enter_context(_Line(self._ticket))
                    asked = AskGrant(
                        component=self._ticket.component,
                        query=part.query,
                        query_run=part.query_run,
                        batch=int(_property(context, "streaming.sql.batchId")),
                        partition=context.partitionId(),
                        node=node_identity(),
                    )
                    granted = line.answer(asked)
                    if not isinstance(granted, Grant):
                        break  # it was taken before, or the run is over and `commit` will be told so
                    way, part.grant = resources.enter_context(_Way(self._ticket, granted, line)), granted.grant
                way.push(batch)
                part.rows += batch.num_rows

    def commit(self, messages: Sequence[PushedPart | None], batchId: int) -> None:
        """Waits until the run is in charge of the micro-batch."""
        parts = [part for part in messages if part is not None]
        for part in parts:
            if part.broken:
                raise RunError(part.broken)
        with _Line(self._ticket) as line:
            line.answer(
                AskTaken(
                    component=self._ticket.component,
                    query=parts[0].query if parts else "",
                    query_run=parts[0].query_run if parts else "",
                    batch=batchId,
                    parts=tuple(WrittenPart(grant=part.grant, rows=part.rows) for part in parts if part.grant),
                )
            )

    def abort(self, messages: Sequence[PushedPart | None], batchId: int) -> None:
        """Nothing to do: the query's next start tells the run that this one is over."""


def feeding(ticket: FeedTicket) -> Callable[[DataFrame, int], None]:
    """For ``foreachBatch``: a micro-batch goes through the sink in a job of its own, on classic sessions."""
    sink = FeedSink(ticket)

    def push(batches: Iterator[pa.RecordBatch]) -> Iterator[Any]:
        yield pa.RecordBatch.from_pydict({"part": [msgspec.msgpack.encode(sink.write(batches))]})

    def feed(frame: DataFrame, batch: int) -> None:
        pushed = frame.mapInArrow(push, "part binary").collect()
        sink.commit([msgspec.msgpack.decode(row.part, type=PushedPart) for row in pushed], batch)

    return feed


def _property(context: TaskContext, name: str) -> str:
    found: str | None = context.getLocalProperty(name)
    if not found:
        message = f"StreamingFrame: wanted a task of a streaming query, with property {name}, got one without"
        raise RunError(message)
    return found


class _Line:
    """To the run's controller."""

    def __init__(self, ticket: FeedTicket) -> None:
        self._ticket = ticket
        self._client = AdminClient(endpoint=ticket.endpoint, server_public=ticket.server_public, keys=ticket.keys)

    def answer(self, question: FeedQuestion) -> Grant | Taken:
        """Asks until there is an answer; RunError if it is no."""
        while True:
            answer = self._client.ask(question)
            if isinstance(answer, Grant | Taken):
                return answer
            self._require_no_refusal(answer)
            time.sleep(_ASK_AGAIN_S)

    def require_held(self, grant: int) -> None:
        """RunError if rows by this grant are not wanted any more."""
        self._require_no_refusal(self._client.ask(AskHolds(component=self._ticket.component, grant=grant)))

    def _require_no_refusal(self, answer: Answer) -> None:
        if isinstance(answer, NotNow):
            message = f"StreamingFrame {self._ticket.component!r}: {answer.reason}"
            raise RunError(message)

    def __enter__(self) -> _Line:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()


class _Way:
    """To the task of the spout that takes the rows."""

    def __init__(self, ticket: FeedTicket, grant: Grant, line: _Line) -> None:
        self._line = line
        self._grant = grant.grant
        self._route = Route(target=grant.task, flags=FrameKind.BATCH)
        self._place = f"StreamingFrame {ticket.component!r} (task {grant.task})"
        self._way = way_to(
            same_node=grant.same_node,
            ring_address=grant.ring_address,
            link_endpoint=grant.link_endpoint,
            keys=ticket.keys,
            settings=ticket.settings,
        )

    def push(self, batch: pa.RecordBatch) -> None:
        """Pushes a record batch, however long that takes, as long as it is wanted."""
        now_ns = time.time_ns()
        pieces = min(batch.num_rows, 1 + batch.nbytes // _MOST_BYTES)
        each = -(-batch.num_rows // pieces)
        for first in range(0, batch.num_rows, each):
            piece = batch.slice(first, each)
            self._send(batch_to_payload(piece, now_ns, now_ns, frame=self._grant))

    def _send(self, payload: bytes) -> None:
        look_at_s = time.monotonic() + _LOOK_AFTER_S
        try:
            while not self._way.try_send(self._route, payload):
                if time.monotonic() >= look_at_s:
                    self._line.require_held(self._grant)
                    if self._way.peer_is_dead():
                        message = f"{self._place} is dead; the query starts again"
                        raise RunError(message)
                    look_at_s = time.monotonic() + _LOOK_AFTER_S
                time.sleep(_FULL_WAIT_S)
        except RingError as error:
            message = f"{self._place} is gone; the query starts again: {error}"
            raise RunError(message) from error

    def __enter__(self) -> _Way:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(self._way, LinkSender):
            self._way.close(_LINGER_S if error is None else 0.0)
        else:
            self._way.close()
