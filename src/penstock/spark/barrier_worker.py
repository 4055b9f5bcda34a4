"""The executor's side of a transform: a task of a barrier stage that is a worker.

There is no controller. The tasks of the stage tell each other where they are, each works out the same assignment, and
then all run their duty cycles until everything has ended:

    tell and hear who is where (allGather) → open the tasks → work → all have ended: leave

That all have ended is told by end markers: they go from the output of every worker to a `Farewell` in every worker. A
barrier of Spark's would do, but costs a second each, because that is how often it looks.

One thread does everything, but for the meeting. When Spark is slow to take what came out, this thread waits for it: it
reads no frames meanwhile, its ring fills, and those who send to it wait for credit, up to the spouts, which then ask
Spark for no more.

Whatever goes wrong is raised. Then Spark ends all tasks of the stage and starts the whole of it anew, so what Spark
keeps is the output of one attempt in which nothing failed and nothing was lost.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.errors import RunError
from penstock.plan.shape import shape_of
from penstock.spark.addresses import executor_address
from penstock.spark.frame_input import FrameInput, FrameSpout
from penstock.spark.frame_output import Farewell, FrameOutput
from penstock.spark.node import node_identity
from penstock.spark.packed_rows import pack
from penstock.spark.transform_plan import plan_transform
from penstock.spark.transform_ticket import TransformTicket
from penstock.topology.shipping import from_bytes
from penstock.transport.links import LinkReceiver
from penstock.transport.ring import RingReader, RingSettings
from penstock.worker.carriers import FrameWay, RingWay
from penstock.worker.company import Colleague
from penstock.worker.deployment import Deployment
from penstock.worker.garbage import GarbageKeeper
from penstock.worker.peers import way_to
from penstock.worker.worker import Worker

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["serve_transform"]

LOOK_AT_PEERS_EVERY_NS = 50_000_000
BEREAVED_FOR_NS = 2_000_000_000
"""How long Spark has to end a worker whose peer is gone, until it ends by itself: the peer knows better why."""
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


def serve_transform(ticket: bytes, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Is a worker of a transform until all of them have ended. Yields what comes out here, as it is made, packed."""
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
        task = _TransformTask(given, context, inbox, link)
        with contextlib.closing(task.build(batches)):
            garbage.settle()
            yield from task.run(garbage)
            if task.uses_links:
                context.barrier()  # a link that is closed loses what it has not sent yet


class _TransformTask:
    def __init__(self, ticket: TransformTicket, context: Any, inbox: RingReader, link: LinkReceiver) -> None:
        self._ticket = ticket
        self._context = context
        self._inbox = inbox
        self._link = link
        self._own: int = context.partitionId()
        self._bereaved_ns = 0

    def build(self, batches: Iterable[pa.RecordBatch]) -> Worker:
        own = self._own
        rows = FrameInput(batches, self._ticket.inputs)
        peers = self._meet(rows)
        topology = from_bytes(self._ticket.topology)
        everywhere = {name for name, spec in topology.components.items() if isinstance(spec.logic, _EVERYWHERE)}
        self.uses_links = any(peer.node != peers[own].node for peer in peers)
        ways: dict[int, FrameWay | None] = {
            number: way_to(
                same_node=peer.node == peers[own].node,
                ring_address=peer.ring_address,
                link_endpoint=peer.link_endpoint,
                keys=self._ticket.keys,
                settings=self._ticket.settings,
            )
            for number, peer in enumerate(peers)
            if number != own
        }
        for number, way in ways.items():
            # A link would do, but what it has not sent yet is lost when we leave, and only nodes are waited for.
            if peers[number].node == peers[own].node and not isinstance(way, RingWay):
                message = f"worker {number} is on the same node, and its ring cannot be reached; set PENSTOCK_NODE"
                raise RunError(message)
        self._deployment = Deployment(
            worker=own,
            topology=topology,
            assignment=plan_transform(
                shape_of(topology),
                everywhere=everywhere,
                nodes=[peer.node for peer in peers],
                # What is still under way from an attempt that failed has another number, and is not taken for ours.
                number=max(peer.attempt for peer in peers) % MOST_ASSIGNMENTS + 1,
            ),
            inbox=self._inbox,
            ways=ways,
            colleagues=[Colleague(number, peer.node) for number, peer in enumerate(peers)],
            settings=self._ticket.settings,
        )
        self._worker = self._deployment.build()
        for spout in self._worker.spouts:
            if isinstance(spout.logic, FrameSpout):
                spout.logic.input = rows
        (self._output_task,) = (bolt for bolt in self._worker.bolts if isinstance(bolt.logic, FrameOutput))
        return self._worker

    def _meet(self, rows: FrameInput) -> list[_Whereabouts]:
        """Tells and hears who is where. Spark takes a second for it, in which it may as well read."""
        own = _Whereabouts(node_identity(), self._inbox.address, self._link.endpoint, self._context.taskAttemptId())
        with ThreadPoolExecutor(max_workers=1) as beside:
            told = beside.submit(self._context.allGather, msgspec.json.encode(own).decode())
            rows.read_ahead(READ_AHEAD_BYTES, told.done)
            return [msgspec.json.decode(text, type=_Whereabouts) for text in told.result()]

    def run(self, garbage: GarbageKeeper) -> Iterator[pa.RecordBatch]:
        worker = self._worker
        output: FrameOutput = self._output_task.logic
        worker.begin()
        look_at_peers_ns = 0
        while True:
            worked = worker.do_work()
            self._raise_failures()
            for batch in output.batches(all=not worked):
                yield from pack(batch, self._own)
            now_ns = time.monotonic_ns()
            if now_ns >= look_at_peers_ns:
                look_at_peers_ns = now_ns + LOOK_AT_PEERS_EVERY_NS
                self._look_at_peers()
            if worked:
                garbage.busy()
                continue
            if worker.ended:
                break
            garbage.idle()
            worker.idle(IDLE_AT_MOST_S)
        self._require_nothing_lost()

    def _raise_failures(self) -> None:
        for failure, _ in self._deployment.failures.take_fresh():
            on = f" on {failure.culprit}" if failure.culprit else ""
            message = (
                f"component {failure.component!r} (task {failure.task}) raised {failure.kind}{on}\n{failure.trace}"
            )
            raise RunError(message)

    def _look_at_peers(self) -> None:
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
