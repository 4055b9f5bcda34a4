"""Partial results on their way up: a model of workers that pass them on, whatever the order and the layout."""

from collections import Counter, defaultdict, deque
from random import Random
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from penstock.flow.ascent import next_on_the_way_up
from penstock.flow.combining import Combining, Parting
from penstock.flow.ledger import AckBook

TOP = 0
"""The worker of the one task."""

Label = tuple[int, int, int]
"""What a tuple stands for here: its source, the markers that this had passed, and a number."""


class Message(msgspec.Struct, frozen=True):
    """What travels: some labels that became one tuple in the name of a source, or its marker, or its end."""

    source: int
    labels: tuple[Label, ...] = ()
    runs: tuple[tuple[int, int], ...] = ()
    frame: int = 0
    epoch: int | None = None
    ends: bool = False


class World:
    """Sources on workers, workers on nodes, queues between them, and one target that checks what it is given."""

    def __init__(self, source_workers: list[int], node_of: dict[int, str], random: Random) -> None:
        self.random = random
        self.worker_of = dict(enumerate(source_workers))
        self.book = AckBook(lambda: random.getrandbits(64))
        self.epochs = Counter[int]()
        self.live = set(self.worker_of)
        self.combining = {worker: Combining(self.fold, self.book) for worker in {*source_workers}}
        self.next_of = {
            worker: next_on_the_way_up(worker=worker, top=TOP, workers=source_workers, node_of=node_of, edge=3)
            for worker in self.combining
        }
        self.queues: dict[tuple[int, int], deque[Message]] = defaultdict(deque)
        self.markers_seen = Counter[int]()
        self.ended: set[int] = set()
        self.delivered = Counter[Label]()
        self.emitted: list[Label] = []

    def fold(self, a: tuple[Label, ...], b: tuple[Label, ...]) -> tuple[Label, ...] | None:
        return None if self.random.random() < 0.1 else a + b

    def act(self, source: int) -> None:
        """A source emits, passes a marker or ends."""
        worker = self.worker_of[source]
        choice = self.random.random()
        if choice < 0.7:
            labels = [(source, self.epochs[source], len(self.emitted) + n) for n in range(self.random.randrange(1, 4))]
            self.emitted += labels
            runs = [(label[2] + 1, 1) for label in labels]
            self.combining[worker].add(source, [(label,) for label in labels], runs, origin_ns=0)
        elif choice < 0.95:
            self.epochs[source] += 1
            self.pass_marker(worker, Message(source, epoch=self.epochs[source]))
        else:
            self.end(source)

    def end(self, source: int) -> None:
        self.live.discard(source)
        self.pass_marker(self.worker_of[source], Message(source, ends=True))

    def pass_marker(self, worker: int, message: Message) -> None:
        combining = self.combining[worker]
        if message.ends:
            before = combining.end(message.source)
        else:
            assert message.epoch is not None
            before = combining.marker(message.source, message.epoch)
        for parting in before:
            self.send(worker, parting)
        self.forward(worker, message)

    def flush(self, worker: int) -> None:
        for parting in self.combining[worker].take(lambda _: self.random.random() < 0.7):
            self.send(worker, parting)

    def send(self, worker: int, parting: Parting) -> None:
        for partial in parting.partials:
            self.forward(worker, Message(parting.speaker, partial.tup, tuple(partial.runs.items()), partial.frame))

    def forward(self, worker: int, message: Message) -> None:
        self.queues[worker, self.next_of[worker]].append(message)

    def deliver(self, channel: tuple[int, int]) -> None:
        _, receiver = channel
        message = self.queues[channel].popleft()
        if receiver == TOP:
            self.arrive(message)
        elif message.labels:
            self.combining[receiver].absorb(message.source, message.labels, message.runs, message.frame, 0, ())
        else:
            self.pass_marker(receiver, message)

    def arrive(self, message: Message) -> None:
        """What the target relies on: between two markers of a source comes what was emitted between them."""
        assert message.source not in self.ended
        if message.ends:
            self.ended.add(message.source)
        elif message.epoch is not None:
            self.markers_seen[message.source] += 1
            assert message.epoch == self.markers_seen[message.source]
        for label in message.labels:
            assert label[1] == self.markers_seen[message.source]
            assert label[0] not in self.ended
            assert self.markers_seen[label[0]] <= label[1], "its own source's next marker came before it"
        self.delivered.update(message.labels)
        self.book.processed(message.runs, message.frame)

    def step(self) -> None:
        full = [channel for channel, queue in self.queues.items() if queue]
        kind = self.random.choice(("act", "flush", "deliver"))
        if kind == "act" and self.live:
            self.act(self.random.choice(sorted(self.live)))
        elif kind == "flush":
            self.flush(self.random.choice(sorted(self.combining)))
        elif full:
            self.deliver(self.random.choice(full))

    def finish(self) -> None:
        for source in sorted(self.live):
            self.end(source)
        while full := [channel for channel, queue in self.queues.items() if queue]:
            self.deliver(self.random.choice(full))


layouts = st.lists(st.integers(0, 5), min_size=1, max_size=8)
nodes = st.fixed_dictionaries({worker: st.sampled_from("ab") for worker in range(6)})


@given(layouts, nodes, st.randoms(use_true_random=False), st.integers(0, 120))
def test_epochs_are_never_mixed_and_nothing_is_lost_or_doubled(
    source_workers: list[int], node_of: dict[int, str], random: Random, steps: int
) -> None:
    world = World(source_workers, node_of, random)
    for _ in range(steps):
        world.step()
    world.finish()

    assert world.delivered == Counter(world.emitted)
    assert world.ended == {*world.worker_of}
    assert not any(world.combining.values())
    assert world.book.take() == {}, "what was sent was processed, tree by tree"


@given(st.lists(st.integers(0, 2), max_size=20))
def test_a_tree_stays_open_as_long_as_its_tuple_waits(sources: list[int]) -> None:
    book = AckBook(Random(1).getrandbits(63).__index__)
    combining = Combining(lambda a, b: a + b, book)
    for root, source in enumerate(sources, 1):
        combining.add(source, [(root,)], [(root, 1)], origin_ns=root)
    news = book.take()

    assert sorted(root for told in news.values() for root, _ in told.sums) == [*range(1, len(sources) + 1)]


def test_what_could_not_be_sent_names_the_sources_that_should_wait() -> None:
    combining = Combining(lambda a, b: a + b, None)
    combining.marker(3, 1)
    combining.add(4, [(1,)], (), origin_ns=7)
    combining.add(2, [(2,)], (), origin_ns=5)
    combining.add(3, [(3,)], (), origin_ns=5)
    [sent] = combining.take(lambda speaker: speaker != 2)

    assert (sent.speaker, [partial.tup for partial in sent.partials]) == (3, [(3,)])
    assert combining.stuck() == {2, 4}
    [sent] = combining.take(lambda speaker: speaker == 2)
    assert [(partial.tup, partial.origin_ns) for partial in sent.partials] == [((1, 2), 5)]
    assert combining.stuck() == set()


def test_two_that_cannot_be_put_together_travel_one_by_one_with_their_own_trees() -> None:
    book = AckBook(iter(range(1, 99, 2)).__next__)
    combining = Combining(lambda a, b: None if a[0] == "odd" or b[0] == "odd" else a + b, book)
    combining.add(1, [("a",), ("b",), ("odd",), ("c",), ("d",)], [(10, 1), (11, 3), (12, 1)], origin_ns=0)
    [sent] = combining.take(lambda _: True)

    assert [partial.tup for partial in sent.partials] == [("a", "b"), ("odd",), ("c", "d")]
    assert [dict(partial.runs) for partial in sent.partials] == [{10: 1, 11: 1}, {11: 1}, {11: 1, 12: 1}]


def test_debts_go_with_what_they_are_owed_for() -> None:
    combining: Combining = Combining(lambda a, b: a + b, None)
    debts: list[tuple[Any, int]] = [("w1", 10), ("w2", 5), ("w1", 1)]
    for debt in debts:
        combining.absorb(1, (0,), (), 0, 0, [debt])
    [sent] = combining.take(lambda _: True)

    assert [dict(partial.debts) for partial in sent.partials] == [{"w1": 11, "w2": 5}]


@given(layouts, nodes, st.integers(0, 9))
def test_everybody_reaches_the_top_and_each_node_has_one_head(
    workers: list[int], node_of: dict[int, str], edge: int
) -> None:
    next_of = {
        worker: next_on_the_way_up(worker=worker, top=TOP, workers=workers, node_of=node_of, edge=edge)
        for worker in {*workers}
    }
    heads = Counter(node_of[worker] for worker, after in next_of.items() if after == TOP)
    for worker, after in next_of.items():
        assert after == TOP or (next_of[after] == TOP and node_of[after] == node_of[worker])

    assert all(count == 1 for node, count in heads.items() if node != node_of[TOP])


@given(layouts, nodes, st.lists(st.sets(st.integers(1, 5)), min_size=6, max_size=6), st.integers(0, 9))
def test_nothing_goes_round_in_circles_whoever_is_taken_for_lost(
    workers: list[int], node_of: dict[int, str], lost: list[set[int]], edge: int
) -> None:
    for at in {*workers}:
        seen = [at]
        while seen[-1] != TOP:
            there = {one: node for one, node in node_of.items() if one not in lost[seen[-1]] or one == seen[-1]}
            after = next_on_the_way_up(worker=seen[-1], top=TOP, workers=workers, node_of=there, edge=edge)
            assert after not in seen
            seen.append(after)
