"""Workers over real rings: the same topologies, through shared memory."""

import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from multiprocessing.connection import Connection

import pyarrow as pa
import pytest

from penstock.plan.assignment import Assignment
from penstock.testing import CapturedSink, FedSpout
from penstock.topology.bolts import BatchBolt
from penstock.topology.topology import Topology
from penstock.transport.ring import RingReader, RingSettings, RingWriter, Route
from penstock.worker.carriers import RingWay
from penstock.worker.company import Colleague
from penstock.worker.deployment import Deployment
from penstock.worker.settings import WorkerSettings
from penstock.worker.worker import Worker
from tests.ring.nursery import Nursery
from tests.ring.patience import wait_until


@contextmanager
def workers_over_rings(
    topology: Topology,
    worker_of: dict[int, int],
    *,
    capacity_bytes: int = 1 << 16,
    settings: WorkerSettings | None = None,
) -> Iterator[list[Worker]]:
    assignment = Assignment(number=1, worker_of=worker_of)
    numbers = assignment.workers()
    with ExitStack() as stack:
        rings = {
            number: stack.enter_context(RingReader.create(RingSettings(capacity_bytes=capacity_bytes)))
            for number in numbers
        }
        workers = []
        for number in numbers:
            ways = {peer: RingWay(RingWriter.attach(rings[peer].address)) for peer in numbers if peer != number}
            deployment = Deployment(
                worker=number,
                topology=topology,
                assignment=assignment,
                inbox=rings[number],
                ways=ways,  # type: ignore[arg-type]
                colleagues=[Colleague(worker, "here") for worker in range(len(rings))],
                settings=settings,
            )
            worker = deployment.build()
            stack.callback(worker.close)
            workers.append(worker)
        for worker in workers:
            worker.begin()
        yield workers


def run_to_end(workers: list[Worker]) -> None:
    while not all(worker.ended for worker in workers):
        for worker in workers:
            worker.do_work()


def test_words_are_counted_over_rings() -> None:
    lines = [(f"a b{number % 3} c{number % 5}",) for number in range(1000)]
    topo, sink = Topology("words"), CapturedSink()
    spout = topo.spout("lines", FedSpout(lines, fields=("line",)))
    words = topo.bolt(
        "split", lambda tup: [(word,) for word in tup.line.split()], spout.shuffle(), tasks=2, fields=("word",)
    )
    topo.bolt("sink", sink, words.by("word"), tasks=2)
    with workers_over_rings(topo, {0: 0, 1: 1, 2: 2, 3: 0, 4: 1}) as workers:
        run_to_end(workers)

    assert Counter(sink.values) == Counter((word,) for (line,) in lines for word in line.split())


def test_tuples_that_are_larger_than_the_ring_pass_it() -> None:
    texts = [("x" * size,) for size in (10, 100_000, 10, 300_000, 10, 1_000_000)]
    topo, sink = Topology("large"), CapturedSink()
    passed = topo.bolt(
        "pass", lambda tup: tup, topo.spout("texts", FedSpout(texts, fields=("text",))).shuffle(), fields=("text",)
    )
    topo.bolt("sink", sink, passed.shuffle())
    with workers_over_rings(topo, {0: 0, 1: 1, 2: 0}) as workers:
        run_to_end(workers)

    assert sink.values == texts


class Keeping(BatchBolt):
    """Keeps every batch that it was ever given."""

    fields = ("text",)

    def __init__(self) -> None:
        self.kept: list[pa.RecordBatch] = []

    def process_batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        self.kept.append(batch)
        return batch


def test_batches_that_a_bolt_keeps_do_not_keep_the_ring() -> None:
    texts = [("x" * 1000,) for _ in range(1000)]
    topo, sink = Topology("keeping"), CapturedSink()
    first = topo.bolt("first", Keeping(), topo.spout("texts", FedSpout(texts, fields=("text",))).shuffle())
    second = topo.bolt("second", Keeping(), first.shuffle())
    topo.bolt("sink", sink, second.shuffle())
    with workers_over_rings(topo, {0: 0, 1: 0, 2: 1, 3: 0}) as workers:
        run_to_end(workers)

    assert sink.values == texts


@pytest.mark.parametrize("window_bytes", [1, 1 << 20])
def test_two_workers_that_are_full_towards_each_other_over_rings(window_bytes: int) -> None:
    numbers = [(number,) for number in range(20_000)]
    topo, sink = Topology("there-and-back"), CapturedSink()
    stream = topo.spout("numbers", FedSpout(numbers, fields=("n",)))
    for name in ("a", "b", "c"):
        # What a helper does on a machine that is too busy for them may overtake.
        stream = topo.bolt(name, lambda tup: tup, stream.shuffle(), fields=("n",), helping=False)
    topo.bolt("sink", sink, stream.shuffle())
    sized = WorkerSettings(credit_window_bytes=window_bytes)
    with workers_over_rings(topo, {0: 0, 1: 1, 2: 0, 3: 1, 4: 0}, capacity_bytes=1 << 12, settings=sized) as workers:
        run_to_end(workers)

    assert sink.values == numbers


@pytest.mark.parametrize("capacity_bytes", [1 << 12, 1 << 20])
def test_every_tree_is_complete_when_all_has_passed_rings(capacity_bytes: int) -> None:
    """Small frames are written directly, and counted when they are written; in the small ring many have to wait."""
    rows = [(number, "x" * (number % 700), None if number % 50 else [number]) for number in range(3000)]
    topo, sink = Topology("trees"), CapturedSink()
    source = topo.spout("rows", FedSpout(rows, fields=("n", "text", "other")))
    one = topo.bolt("one", lambda tup: tup, source.shuffle(), fields=("n", "text", "other"))
    two = topo.bolt("two", lambda tup: tup, one.by("n"), tasks=2, fields=("n", "text", "other"))
    topo.bolt("sink", sink, two.shuffle())
    sized = WorkerSettings(delivery="at_least_once")
    with workers_over_rings(
        topo, {0: 0, 1: 1, 2: 0, 3: 1, 4: 0}, capacity_bytes=capacity_bytes, settings=sized
    ) as workers:
        run_to_end(workers)
        assert [spout.pending for worker in workers for spout in worker.spouts] == [0]

    assert sorted(sink.values) == rows, "each came once: none was lost and emitted again"


def have_an_inbox(channel: Connection) -> None:
    with RingReader.create(RingSettings(capacity_bytes=1 << 16)) as reader:
        channel.send(reader.address)
        channel.recv()


def test_a_peer_that_is_killed_is_known_to_be_dead_though_its_ring_takes_more(nursery: Nursery) -> None:
    peer = nursery.fork(have_an_inbox)
    with closing(RingWay(RingWriter.attach(peer.receive()))) as way:
        assert not way.peer_is_dead()
        peer.send_signal(signal.SIGKILL)
        wait_until(way.peer_is_dead, "the kernel says so")
        assert way.try_send(Route(), b"nobody will read it")
    assert peer.wait() == -signal.SIGKILL
