"""At least once: what comes twice. Moves alone duplicate nothing; a death, what was under way."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from penstock.connectors.lines import Lines
from penstock.control.peers import PeerLost
from penstock.testing import CapturedSink, LocalCluster
from penstock.testing.late_words import Meeting
from penstock.topology.bolts import BatchBolt, Bolt
from penstock.topology.context import TaskContext
from penstock.topology.emit import Emit
from penstock.topology.spouts import Spout
from penstock.topology.topology import Topology
from penstock.topology.transactional import TransactionalSink
from penstock.topology.tuples import Tuple
from penstock.worker.settings import WorkerSettings
from tests.tries import tried
from tests.worker.moved_word_count import WORKERS, moves

COUNT = 1500
SLOW_EVERY = 100

seeds = st.integers(0, 2**32)


class Ledgered(TransactionalSink):
    """Has its tuples seen when a marker has come, as a sink that writes files does: trees are open until then."""

    fields = ()

    def __init__(self) -> None:
        self.seen: list[tuple[Any, ...]] = []
        self.unseen: list[tuple[Any, ...]] = []

    def process(self, tup: Tuple) -> None:
        self.unseen.append(tuple(tup))

    def prepare(self) -> Any:
        return True if self.unseen else None

    def commit(self, token: Any) -> None:  # noqa: ARG002
        self.seen += self.unseen
        self.unseen.clear()

    def __deepcopy__(self, memo: dict[int, Any]) -> Ledgered:
        copied = type(self)()
        copied.seen = self.seen
        return copied


class Batches(BatchBolt):
    fields = ("n",)

    def process_batch(self, batch: Any) -> Any:
        return batch


def passing_on(sink: Ledgered, *, batches: bool) -> Topology:
    topo = Topology("passing-on")
    numbers = topo.spout("numbers", Lines(range(COUNT), fields=("n",)), tasks=2)
    once = topo.bolt("once", Batches() if batches else lambda tup: (tup.n,), numbers.shuffle(), tasks=2, fields=("n",))
    twice = topo.bolt("twice", lambda tup: (tup.n,), once.by("n"), tasks=2, fields=("n",))
    topo.bolt("sink", sink, twice.shuffle(), numbers.shuffle(), tasks=2)
    return topo


@tried(6)
@given(seed=seeds, batches=st.booleans(), epoch_turns=st.sampled_from([5, 40]))
def test_tasks_that_move_all_the_time_duplicate_nothing(seed: int, batches: bool, epoch_turns: int) -> None:
    sink = Ledgered()
    sized = WorkerSettings(spout_turn_tuples=16, max_pending=200)
    with LocalCluster(passing_on(sink, batches=batches), workers=WORKERS, seed=seed, settings=sized) as cluster:
        chance = random.Random(seed)
        for turn in range(50_000):
            if cluster.ended:
                break
            if turn % epoch_turns == 0:
                cluster.begin_epoch()
            if not cluster.moving:
                moves(cluster, chance)
            cluster.step()
            cluster.clock.let_pass(0.01)
        cluster.run_to_end()
        assert not cluster.result().failures
    assert Counter(sink.seen) == Counter({(number,): 2 for number in range(COUNT)})


def with_a_slow_tree(seen: CapturedSink, slow: Ledgered) -> Topology:
    """The first tuple is not done before a marker comes; all others are at once."""
    topo = Topology("slow-tree")
    numbers = topo.spout(
        "numbers", Lines([number * SLOW_EVERY + bool(number) for number in range(4000)], fields=("n",))
    )
    way = topo.bolt("way", Fork(), numbers.shuffle())
    topo.bolt("seen", seen, way.shuffle())
    topo.bolt("slow", slow, way.stream("slow").shuffle())
    return topo


class Fork(Bolt):
    fields = ("n",)
    streams = {"slow": ("n",)}  # noqa: RUF012

    def process(self, tup: Tuple) -> Any:
        return Emit((tup.n,), stream="slow") if tup.n % SLOW_EVERY == 0 else (tup.n,)


def test_a_spout_whose_worker_died_emits_again_what_was_not_done() -> None:
    seen, slow = CapturedSink(), Ledgered()
    apart = {0: 0, 1: 1, 2: 1, 3: 1}
    sized = WorkerSettings(singly_tuples=0, spout_turn_tuples=256)
    with LocalCluster(with_a_slow_tree(seen, slow), worker_of=apart, settings=sized) as cluster:
        while len(seen.tuples) < 2000:
            cluster.step()
        cluster._note_progress()  # as a report does, twice a second
        (spout,) = cluster.workers[0].spouts
        under_way = spout.pending
        assert 0 < under_way < 500, "most of it is done"
        cluster.kill(0)
        cluster.settle()
        cluster.restart(0)
        cluster.run_to_end()
    found = Counter(seen.values) + Counter(slow.seen)
    assert len(found) == 4000
    assert found.total() - 4000 <= under_way


class OneByOne(Spout):
    """Gives a number at a time, so that what is done and what is not are never of the same call."""

    fields = ("n",)

    def open(self, context: TaskContext) -> None:
        self.number, self.step = context.index, context.count

    def next(self) -> Any:
        if self.number >= COUNT:
            raise StopIteration
        self.number += self.step
        return (self.number - self.step,)

    def position(self) -> int:
        return self.number

    def seek(self, position: int) -> None:
        self.number = position


def one_way(seen: CapturedSink, slow: Ledgered) -> Topology:
    """Each tuple has one way; some trees are open until a marker comes, most are done at once."""
    topo = Topology("one-way")
    numbers = topo.spout("numbers", OneByOne(), tasks=2)
    once = topo.bolt("once", lambda tup: (tup.n,), numbers.shuffle(), tasks=2, fields=("n",))
    fork = topo.bolt("fork", Fork(), once.by("n"), tasks=2)
    topo.bolt("seen", seen, fork.shuffle(), tasks=2)
    topo.bolt("slow", slow, fork.stream("slow").shuffle())
    return topo


def all_have_met(cluster: LocalCluster) -> bool:
    """Whether everybody has heard who died, and who came instead: that takes less time than to start a process."""
    waiting = (word.message for words in cluster._words._words.values() for word in words)
    return not any(isinstance(message, PeerLost | Meeting) for message in waiting)


@tried(6)
@given(seed=seeds, with_moves=st.booleans())
def test_deaths_duplicate_no_more_than_was_under_way(seed: int, with_moves: bool) -> None:
    seen, slow, chance = CapturedSink(), Ledgered(), random.Random(seed)
    under_way, kills, dead = 0, 4, None
    sized = WorkerSettings(spout_turn_tuples=1, max_pending=60)
    with LocalCluster(one_way(seen, slow), workers=WORKERS, seed=seed, settings=sized) as cluster:
        for turn in range(50_000):
            if cluster.ended:
                break
            if turn % 100 == 0:
                cluster.begin_epoch()
            if with_moves and not cluster.moving:
                moves(cluster, chance)
            if dead is not None and chance.random() < 0.1:
                cluster.restart(dead)
                dead = None
            elif dead is None and kills and chance.random() < 0.03 and all_have_met(cluster):
                cluster._note_progress()  # a report that was due
                under_way += sum(spout.pending for worker in cluster.workers.values() for spout in worker.spouts)
                kills, dead = kills - 1, chance.choice(sorted(cluster.workers))
                cluster.kill(dead)
            cluster.step()
            cluster.clock.let_pass(0.01)
        if dead is not None:
            cluster.restart(dead)
        cluster.run_to_end()
        assert not cluster.result().failures
    found = Counter(seen.values) + Counter(slow.seen)
    assert found.keys() == {(number,) for number in range(COUNT)}
    assert found.total() - COUNT <= under_way
