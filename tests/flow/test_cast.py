"""A broadcast over trees that change, workers that die, links that lose: every frame once, in order, to everybody."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from penstock.flow.cast import IncomingCast, OutgoingCast, Verdict
from tests.tries import tried

ORIGIN = 0


class CastModel(RuleBasedStateMachine):
    """Workers with first-in-first-out hops between them, and whatever can happen to them."""

    @initialize(workers=st.integers(1, 5))
    def begin(self, workers: int) -> None:
        self.cast: OutgoingCast[int] = OutgoingCast(window_bytes=10)
        self.hops: dict[tuple[int, int], deque[tuple[Any, ...]]] = defaultdict(deque)
        self.incoming: dict[int, IncomingCast] = {}
        self.incarnation: dict[int, int] = {}
        self.taken: dict[int, list[int]] = {}
        self.first: dict[int, int] = {}
        self.roots_children: tuple[int, ...] = ()
        self.tree: dict[int, tuple[int, ...]] = {}
        for worker in range(1, workers + 1):
            self.start(worker)
            self.cast.join(worker)
        self.plant({ORIGIN: tuple(self.cast.members)})

    def start(self, worker: int) -> None:
        self.incoming[worker] = IncomingCast([worker * 10, worker * 10 + 1], tell_at_bytes=2)
        self.taken[worker] = []
        self.first[worker] = self.cast.next_number

    # ---- what the origin does

    def plant(self, tree: dict[int, tuple[int, ...]]) -> None:
        again = [*self.cast.new_tree()]
        self.tree = tree
        first = {
            worker: (self.incarnation.get(worker, 0), member.first) for worker, member in self.cast.members.items()
        }
        self.from_origin(("tree", self.cast.version, tree, first))
        for number, frame in again:
            self.from_origin(("frame", self.cast.version, number, frame))

    def from_origin(self, message: tuple[Any, ...]) -> None:
        for child in self.tree.get(ORIGIN, ()):
            self.hops[ORIGIN, child].append(message)

    def random_tree(self, data: st.DataObject) -> dict[int, tuple[int, ...]]:
        tree: dict[int, list[int]] = {ORIGIN: []}
        members = data.draw(st.permutations(sorted(self.cast.members)))
        for worker in members:
            tree[data.draw(st.sampled_from(sorted(tree)))].append(worker)
            tree[worker] = []
        return {worker: tuple(children) for worker, children in tree.items() if children}

    @rule(size_bytes=st.integers(0, 3))
    def send(self, size_bytes: int) -> None:
        number = self.cast.send(self.cast.next_number, size_bytes)
        self.from_origin(("frame", self.cast.version, number, number))

    @rule(data=st.data())
    def another_tree(self, data: st.DataObject) -> None:
        self.plant(self.random_tree(data))

    # ---- what happens on the way

    def hand_over(self, hop: tuple[int, int]) -> None:
        sender, worker = hop
        message = self.hops[hop].popleft()
        if worker == ORIGIN:
            _, received, processed, complaint_of, incarnation = message
            if incarnation == self.incarnation.get(sender, 0):
                self.cast.heard(sender, received, processed)
                if complaint_of == self.cast.version:
                    self.plant({ORIGIN: tuple(self.cast.members)})
        elif worker in self.incoming:
            self.receive(worker, message)

    def receive(self, worker: int, message: tuple[Any, ...]) -> None:
        incoming = self.incoming[worker]
        if message[0] == "tree":
            _, version, tree, first = message
            incarnation, number = first.get(worker, (None, 0))
            if incarnation != self.incarnation.get(worker, 0):
                return  # meant for who was this worker before
            if incoming.plant(version, tree.get(worker, ()), number):
                for child in incoming.children:
                    self.hops[worker, child].append(message)
            return
        _, version, number, frame = message
        verdict = incoming.arrive(version, number)
        if verdict.forward:
            for child in incoming.children:
                self.hops[worker, child].append(message)
        if verdict.take:
            self.taken[worker].append(frame)
            due = [incoming.process(task, number, 1) for task in (worker * 10, worker * 10 + 1)]
            if any(due):
                incoming.told()
                self.tell(worker, 0)
        if verdict.complain:
            self.tell(worker, version)

    def tell(self, worker: int, complaint_of: int) -> None:
        incoming = self.incoming[worker]
        received = incoming.received or 0
        message = ("got", received, incoming.processed, complaint_of, self.incarnation.get(worker, 0))
        self.hops[worker, ORIGIN].append(message)

    @rule(data=st.data())
    def deliver(self, data: st.DataObject) -> None:
        busy = sorted(hop for hop, messages in self.hops.items() if messages)
        if busy:
            self.hand_over(data.draw(st.sampled_from(busy)))

    @rule(data=st.data())
    def lose_some(self, data: st.DataObject) -> None:
        """A link broke: what was under way on it is gone, however much that was."""
        busy = sorted(hop for hop, messages in self.hops.items() if messages)
        if busy:
            messages = self.hops[data.draw(st.sampled_from(busy))]
            for _ in range(data.draw(st.integers(1, len(messages)))):
                messages.popleft()

    @precondition(lambda self: self.incoming)
    @rule(data=st.data())
    def die(self, data: st.DataObject) -> None:
        """A worker dies, with all that was under way to it; the origin does not know yet."""
        worker = data.draw(st.sampled_from(sorted(self.incoming)))
        del self.incoming[worker]
        for hop in self.hops:
            if hop[1] == worker:
                self.hops[hop].clear()

    def dead(self) -> list[int]:
        return sorted(self.taken.keys() - self.incoming.keys())

    @rule(data=st.data())
    def notice(self, data: st.DataObject) -> None:
        if dead := [worker for worker in self.dead() if worker in self.cast.members]:
            self.cast.leave(data.draw(st.sampled_from(dead)))
            self.plant(self.random_tree(data))

    @rule(data=st.data())
    def come_back(self, data: st.DataObject) -> None:
        """Another process is that worker now, whether the origin had noticed or not."""
        if dead := self.dead():
            worker = data.draw(st.sampled_from(dead))
            self.incarnation[worker] = self.incarnation.get(worker, 0) + 1
            self.start(worker)
            self.cast.join(worker)
            self.plant(self.random_tree(data))

    # ---- what must be so

    @invariant()
    def nothing_is_doubled_or_out_of_order(self) -> None:
        for worker, taken in self.taken.items():
            first = self.first[worker]
            assert taken == [*range(first, first + len(taken))]

    def teardown(self) -> None:
        """When everybody is told of who died, and no more is lost, everybody has everything."""
        for worker in self.dead():
            self.cast.leave(worker)
        self.plant({ORIGIN: tuple(self.cast.members)})
        self.send(1)
        while busy := [hop for hop, messages in self.hops.items() if messages]:
            self.hand_over(busy[0])
        for worker in self.incoming:
            assert self.taken[worker] == [*range(self.first[worker], self.cast.next_number)]
        for worker in self.incoming:
            self.tell(worker, 0)
            self.hand_over((worker, ORIGIN))
        assert not self.cast.is_full, "what everybody has processed is forgotten"


def pauses(cast: OutgoingCast[str]) -> bool:
    return cast.is_full


TestCast = CastModel.TestCase
TestCast.settings = tried(200, steps=40)


def test_the_origin_pauses_at_its_window_and_goes_on_when_the_slowest_member_has_processed() -> None:
    cast: OutgoingCast[str] = OutgoingCast(window_bytes=10)
    cast.join(1)
    cast.join(2)
    cast.send("a", 6)
    assert not pauses(cast)
    cast.send("b", 6)
    assert pauses(cast)
    cast.heard(1, 2, 2)
    assert pauses(cast), "worker 2 has processed nothing"
    cast.heard(2, 2, 1)
    assert not pauses(cast)
    assert [*cast.new_tree()] == [], "all have received all"


def test_without_members_nothing_is_kept() -> None:
    cast: OutgoingCast[str] = OutgoingCast(window_bytes=1)
    cast.send("nobody hears this", 5)
    assert not pauses(cast)
    cast.join(1)
    assert [*cast.new_tree()] == []
    cast.send("b", 5)
    assert pauses(cast)
    cast.leave(1)
    assert not pauses(cast)


def test_what_a_member_says_of_the_future_is_not_believed() -> None:
    cast: OutgoingCast[str] = OutgoingCast(window_bytes=1)
    cast.join(1)
    cast.send("a", 1)
    cast.heard(1, 99, 99)
    cast.heard(7, 99, 99)
    cast.send("b", 1)
    assert [*cast.new_tree()] == [(1, "b")]


def test_a_frame_that_goes_in_a_circle_is_passed_on_once() -> None:
    member = IncomingCast([7], tell_at_bytes=100)
    assert member.plant(1, (2,), 0)
    assert not member.plant(1, (2,), 0)
    assert member.arrive(1, 0) == Verdict(take=True, forward=True, complain=False)
    assert member.arrive(1, 0) == Verdict(take=False, forward=False, complain=False)


def test_a_gap_is_complained_of_once_for_each_tree() -> None:
    member = IncomingCast([7], tell_at_bytes=100)
    member.plant(1, (), 0)
    assert member.arrive(1, 3).complain
    assert not member.arrive(1, 4).complain
    member.plant(2, (), 0)
    assert member.arrive(2, 1).complain
    assert member.arrive(3, 0) == Verdict(take=True, forward=False, complain=True), "its tree is not known"


def test_frames_that_hold_nothing_are_told_of_too() -> None:
    """A task that has nothing to broadcast still sends markers, and its origin keeps them until it is told."""
    member = IncomingCast([7], tell_at_bytes=10_000)
    member.plant(1, (), 0)
    assert any(member.process(7, number, 0) for number in range(100))
