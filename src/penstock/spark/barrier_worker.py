"""The executor's side of a transform: a task of a barrier stage that is a worker.

There is no controller. The tasks of the stage tell each other where they are, each works out the same assignment, and
then all run their duty cycles until everything has ended:

    tell and hear who is where (`meeting`) → open the tasks → work → all have ended: leave

That all have ended is told by end markers: they go from the output of every worker to a `Farewell` in every worker. A
barrier of Spark's would do, but costs a second each, because that is how often it looks.

One thread does everything, but for the meeting. When Spark is slow to take what came out, this thread waits for it: it
reads no frames meanwhile, its ring fills, and those who send to it wait for credit, up to the spouts, which then ask
Spark for no more.

Whatever goes wrong is raised. Then Spark ends all tasks of the stage and starts the whole of it anew, so what Spark
keeps is the output of one attempt in which nothing failed and nothing was lost.

What user code raises would be raised again. So the worker in which it does tells all others, each leaves word of it on
its executor, and all raise the same error: whichever Spark reports is the right one, none has to be killed, which takes
Spark seconds, and the next attempts fail by it at once. A worker that finds a peer gone waits for such word first.
"""

from __future__ import annotations

import contextlib
import os
import time
import traceback
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2s
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from penstock.errors import PenstockError, RingAttachError, RingError, RunError
from penstock.plan.shape import shape_of
from penstock.spark.addresses import executor_address
from penstock.spark.frame_input import FrameInput, FrameSpout
from penstock.spark.frame_output import Farewell, FrameOutput
from penstock.spark.meeting import Meeting
from penstock.spark.node import node_identity
from penstock.spark.packed_rows import pack
from penstock.spark.transform_plan import plan_transform
from penstock.spark.transform_ticket import TransformTicket
from penstock.topology.shipping import from_bytes
from penstock.transport.frames import FrameKind
from penstock.transport.links import LinkReceiver, LinkSender
from penstock.transport.ring import RingReader, RingSettings, RingWriter, Route
from penstock.worker.carriers import FrameWay, RingWay
from penstock.worker.company import Colleague
from penstock.worker.deployment import Deployment
from penstock.worker.failures import USER_ERRORS
from penstock.worker.garbage import GarbageKeeper
from penstock.worker.worker import Worker

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["serve_transform"]

LOOK_AT_PEERS_EVERY_NS = 50_000_000
BEREAVED_FOR_NS = 2_000_000_000
"""How long Spark has to end a worker whose peer is gone, until it ends by itself: the peer knows better why."""
TELL_FOR_S = 1.0
"""How long it is tried to tell a peer of a failure: it may be busy with user code, and its ring full."""
IDLE_AT_MOST_S = 0.02
READ_AHEAD_BYTES = 64 << 20
MOST_ASSIGNMENTS = 1 << 31  # a frame has four bytes for their number


_EVERYWHERE = (FrameSpout, FrameOutput, Farewell)


class _Whereabouts(msgspec.Struct, frozen=True):
    """What a worker tells the others of itself."""

    node: str
    ring_address: str
    link_endpoint: str
    attempt: int
    """Greater than that of any task of an attempt of the stage that failed before."""


def serve_transform(ticket: bytes, batches: Iterable[pa.RecordBatch], failed: Path) -> Iterator[pa.RecordBatch]:
    """Is a worker of a transform until all of them have ended. Yields what comes out here, as it is made, packed.

    Args:
        ticket: a `TransformTicket`.
        batches: what Spark feeds this task.
        failed: the file in which an attempt leaves word to the next that user code has raised.
    """
    from pyspark import BarrierTaskContext

    context = BarrierTaskContext.get()
    given = msgspec.msgpack.decode(ticket, type=TransformTicket)
    executors = [info.address for info in context.getTaskInfos()]
    if len(executors) != given.workers:
        # Where the input comes as it is, its partitions were counted when the transform was made.
        message = f"wanted an input of {given.workers} partitions, as it was then, got {len(executors)}"
        raise RunError(message)
    host = executor_address(executors, context.partitionId())
    with (
        RingReader.create(RingSettings(capacity_bytes=given.settings.inbox_bytes)) as inbox,
        LinkReceiver(
            host=host,
            ring_address=inbox.address,
            keys=given.keys,
            high_water_frames=given.settings.link_high_water_frames,
        ) as link,
        contextlib.closing(GarbageKeeper(time.monotonic_ns)) as garbage,
    ):
        # Spark's own way to meet takes a second, wherever the tasks are.
        meeting = (
            Meeting(
                _place(given, context.stageId()),
                number=context.partitionId(),
                count=given.workers,
                attempt=context.taskAttemptId(),
            )
            if len({*executors}) == 1
            else None
        )
        task = _TransformTask(given, context, inbox, link, failed, meeting)
        with contextlib.closing(task.build(batches)):
            garbage.freeze()  # to look through all that Spark has imported takes longer than a small table
            yield from task.run(garbage)
            if task.uses_links:
                context.barrier()  # a link that is closed loses what it has not sent yet


def _place(ticket: TransformTicket, stage: int) -> str:
    """Where its tasks meet: names of sockets can be seen by all users of a machine, and must not tell the next one."""
    return f"penstock-{blake2s(str(stage).encode(), key=ticket.keys.secret[:32], digest_size=16).hexdigest()}"


class _TransformTask:
    def __init__(
        self,
        ticket: TransformTicket,
        context: Any,
        inbox: RingReader,
        link: LinkReceiver,
        failed: Path,
        meeting: Meeting | None,
    ) -> None:
        self._ticket = ticket
        self._context = context
        self._inbox = inbox
        self._link = link
        self._failed = failed
        self._meeting = meeting
        self._own: int = context.partitionId()
        self._bereaved_ns = 0
        self._all_know = False  # that user code has raised

    def build(self, batches: Iterable[pa.RecordBatch]) -> Worker:
        own = self._own
        rows = FrameInput(batches, self._ticket.inputs)
        peers = self._peers = self._meet(rows)
        # What is still under way from an attempt that failed has another number, and is not taken for ours.
        self._assignment = max(peer.attempt for peer in peers) % MOST_ASSIGNMENTS + 1
        try:
            topology = from_bytes(self._ticket.topology)
        except Exception:  # of the modules that the user's code is in
            self._fail(f"the topology cannot be read on this executor\n{traceback.format_exc()}")
        everywhere = {name for name, spec in topology.components.items() if isinstance(spec.logic, _EVERYWHERE)}
        self.uses_links = any(peer.node != peers[own].node for peer in peers)
        ways: dict[int, FrameWay | None] = {}
        for number in range(len(peers)):
            if number != own:
                try:
                    ways[number] = self._way_to(number)
                except RingAttachError as error:
                    self._await_word(
                        f"worker {number} is on the same node, and has died, or set PENSTOCK_NODE: {error}"
                    )
        self._deployment = Deployment(
            worker=own,
            topology=topology,
            assignment=plan_transform(
                shape_of(topology),
                everywhere=everywhere,
                nodes=[peer.node for peer in peers],
                number=self._assignment,
            ),
            inbox=self._inbox,
            ways=ways,
            colleagues=[Colleague(number, peer.node) for number, peer in enumerate(peers)],
            settings=self._ticket.settings,
        )
        try:
            self._worker = self._deployment.build()
        except PenstockError:
            raise
        except Exception:  # of an open() of the user's
            self._fail(f"a task could not open\n{traceback.format_exc()}")
        self._worker.intake.hand_failed_to(self._hear)
        for spout in self._worker.spouts:
            if isinstance(spout.logic, FrameSpout):
                spout.logic.input = rows
        (self._output_task,) = (bolt for bolt in self._worker.bolts if isinstance(bolt.logic, FrameOutput))
        return self._worker

    def _meet(self, rows: FrameInput) -> list[_Whereabouts]:
        """Tells and hears who is where. Meanwhile this task reads some of its rows already."""
        own = _Whereabouts(node_identity(), self._inbox.address, self._link.endpoint, self._context.taskAttemptId())
        gather = self._context.allGather if self._meeting is None else self._meeting.gather
        with ThreadPoolExecutor(max_workers=1) as beside:
            told = beside.submit(gather, msgspec.json.encode(own).decode())
            try:
                rows.read_ahead(READ_AHEAD_BYTES, told.done)
            except BaseException:
                if self._meeting is not None:  # nobody would end it: Spark believes that this task is over
                    self._meeting.call_off()
                raise
            return [msgspec.json.decode(text, type=_Whereabouts) for text in told.result()]

    def run(self, garbage: GarbageKeeper) -> Iterator[pa.RecordBatch]:
        worker = self._worker
        output: FrameOutput = self._output_task.logic
        worker.begin()
        look_at_peers_ns = 0
        while True:
            self._inbox.take_bell()  # a spout has something: it is asked now
            with self._failing_for_good():
                worked = worker.do_work()
                self._raise_failures()
                batches = [*output.batches(all=not worked)]
            for batch in batches:
                yield from pack(batch, self._own)
            now_ns = time.monotonic_ns()
            if now_ns >= look_at_peers_ns:
                look_at_peers_ns = now_ns + LOOK_AT_PEERS_EVERY_NS
                self._look_at_peers()
            if worked:
                garbage.busy(now_ns)
                continue
            if worker.ended:
                break
            garbage.idle(now_ns)
            with self._failing_for_good():  # tuples may be worked on where they are read
                worker.idle(IDLE_AT_MOST_S)
        self._require_nothing_lost()

    @contextlib.contextmanager
    def _failing_for_good(self) -> Iterator[None]:
        """What a bolt, a spout or the schema refuses would be refused again. All workers are told of it once."""
        try:
            yield
        except RunError:  # the last of some failures, or meant to end the run
            if self._all_know:
                raise
            self._raise_failures()
            self._fail(traceback.format_exc())
        except USER_ERRORS:  # a value that does not fit the schema
            self._fail(traceback.format_exc())

    def _raise_failures(self) -> None:
        for failure, _ in self._deployment.failures.take_fresh():
            on = f" on {failure.culprit}" if failure.culprit else ""
            message = (
                f"component {failure.component!r} (task {failure.task}) raised {failure.kind}{on}\n{failure.trace}"
            )
            self._fail(message)

    def _way_to(self, number: int) -> RingWay | LinkSender:
        """To a peer. On the same node no link would do: what it has not sent yet is lost when we leave."""
        peer, settings = self._peers[number], self._ticket.settings
        if peer.node == self._peers[self._own].node:
            return RingWay(RingWriter.attach(peer.ring_address))
        return LinkSender(
            endpoint=peer.link_endpoint,
            keys=self._ticket.keys,
            high_water_frames=settings.link_high_water_frames,
            window_ms=settings.link_window_ms,
        )

    def _fail(self, message: str) -> NoReturn:
        """User code has raised: no other attempt would go better."""
        self._leave_word(message)
        for number in range(len(self._peers)):
            if number != self._own:
                with contextlib.suppress(RingError):  # it is gone already
                    self._tell(number, message)
        self._all_know = True
        raise RunError(message)

    def _tell(self, number: int, message: str) -> None:
        way = self._way_to(number)  # a new one: those that there are may be closed, or busy
        route = Route(target=number, source=self._own, assignment=self._assignment, flags=FrameKind.FAILED)
        until_ns = time.monotonic_ns() + int(TELL_FOR_S * 1e9)
        try:
            while not way.try_send(route, message.encode(errors="replace")) and time.monotonic_ns() < until_ns:
                time.sleep(0.001)
        finally:
            if isinstance(way, LinkSender):
                way.close(linger_s=TELL_FOR_S)
            else:
                way.close()

    def _leave_word(self, message: str) -> None:
        """To the next attempt, and to workers on this executor. The first word stays."""
        written = self._failed.with_name(f"{self._failed.name}-{self._own}")
        with contextlib.suppress(OSError):  # without it the next attempt fails, too, only later
            written.write_text(message, encoding="utf-8", errors="replace")
            try:
                os.link(written, self._failed)
            finally:
                written.unlink()

    def _hear(self, record: Any) -> NoReturn:
        """User code has raised in another worker."""
        message = bytes(record.payload).decode(errors="replace")
        self._leave_word(message)
        self._all_know = True
        raise RunError(message)

    def _look_for_word(self) -> None:
        if self._failed.exists():
            raise RunError(self._failed.read_text(encoding="utf-8"))

    def _await_word(self, message: str) -> NoReturn:
        """A peer is gone: if user code has raised there, that is the error; else this one is, after a while."""
        until_ns = time.monotonic_ns() + BEREAVED_FOR_NS
        while time.monotonic_ns() < until_ns:
            self._look_for_word()
            self._inbox.take_bell()
            for record in self._inbox.read_many(timeout_s=LOOK_AT_PEERS_EVERY_NS / 1e9):
                if record.flags == FrameKind.FAILED and record.assignment == self._assignment:
                    self._hear(record)
        raise RunError(message)

    def _look_at_peers(self) -> None:
        self._look_for_word()
        gone = self._worker.gone_peers()
        if gone and not self._output_task.ended:  # nobody leaves before that, and all may afterwards
            now_ns = time.monotonic_ns()
            self._bereaved_ns = self._bereaved_ns or now_ns
            if now_ns - self._bereaved_ns > BEREAVED_FOR_NS:
                message = f"worker {gone[0]} of this transform has died, or failed: see its own error"
                raise RunError(message)
        if self._link.error is not None:
            raise RunError(self._link.error)
        if self._link.lost_frames:
            message = f"the link from other nodes broke, and {self._link.lost_frames} frames were lost"
            raise RunError(message)

    def _require_nothing_lost(self) -> None:
        self._look_at_peers()
        lost, unreadable = self._worker.lost_tuples, self._worker.intake.unreadable + self._link.refused_frames
        if lost or unreadable:
            message = f"{lost} tuples were lost between workers, and {unreadable} frames could not be read"
            raise RunError(message)
