"""What a spout has to remember, against a model that remembers everything."""

import random
from collections.abc import Iterator
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.flow.pending import Kept, Pending


@given(st.randoms(use_true_random=False), st.lists(st.sampled_from("tdflabe"), max_size=80), st.integers(1, 4))
def test_nothing_is_forgotten_before_it_is_done_and_positions_never_pass_it(
    draw: random.Random, steps: list[str], max_tries: int
) -> None:
    pending = Pending(most=1000, max_tries=max_tries)
    position, next_root = 0, 1
    open_: dict[int, list[int]] = {}  # root: the numbers of the outputs
    queued: set[int] = set()
    tried: set[int] = set()
    for step in steps:
        if step == "t":
            pending.begin_turn(position)
            for _ in range(draw.randrange(4)):
                open_[next_root] = []
                for _ in range(draw.randrange(1, 3)):
                    some = [*range(position, position + draw.randrange(1, 4))]
                    pending.keep(next_root, some)
                    open_[next_root] += some
                    position += len(some)
                next_root += 1
        elif step == "d" and open_:
            root = draw.choice(list(open_))
            assert pending.done(root) == open_.pop(root)
        elif step in "fl" and open_:
            root = draw.choice(list(open_))
            numbers = open_.pop(root)
            gone = pending.failed(root, lost=step == "l")
            if gone is not None:
                assert step == "f", "what is lost may have been there by chance"
                assert gone.outputs == numbers
                assert len(numbers) == 1, "among several, nobody knows which one failed"
                assert gone.failures >= max_tries
            else:
                queued |= set(numbers)
        elif step == "a":
            again = pending.take_again()
            if again is not None:
                (number,) = again.outputs
                queued.remove(number)
                pending.keep_again(next_root, again)
                open_[next_root] = [number]
                next_root += 1
                if again.on_trial:
                    tried.add(number)
        elif step == "b" and pending.wants_trial:
            assert queued, "only what was lost is put on trial"
            pending.begin_trial()
        elif step == "e" and pending.has_emitted_trial and tried.isdisjoint(chain(*open_.values())):
            tried.clear()
            gone = pending.end_trial()
            if gone is not None:
                assert gone.losses >= max_tries
                queued.remove(*gone.outputs)
        undone = sorted([*(number for numbers in open_.values() for number in numbers), *queued])
        assert undone == sorted(set(range(position)) & set(undone))
        assert len(pending) == len(undone)
        assert 1000 - len(undone) <= pending.room <= 1000
        oldest = pending.oldest_position(position)
        assert oldest <= min(undone, default=position)
        if not undone:
            assert oldest == position


@pytest.mark.parametrize("max_tries", [1, 2, 4])
def test_of_those_that_failed_together_only_who_fails_alone_is_given_up(max_tries: int) -> None:
    pending = Pending(most=10, max_tries=max_tries)
    pending.begin_turn(None)
    pending.keep(1, ["good", "bad", "fine"])
    assert pending.failed(1) is None
    root, tries, done = 1, 1, []
    while (again := pending.take_again()) is not None:
        root += 1
        pending.keep_again(root, again)
        if again.outputs != ["bad"]:
            done += pending.done(root)
            continue
        tries += 1
        given_up = pending.failed(root)
        if given_up is not None:
            assert given_up.outputs == ["bad"]
            assert given_up.tries == tries == max(2, max_tries)
    assert sorted(done) == ["fine", "good"]
    assert len(pending) == 0


def test_positions_may_be_anything_that_can_be_told_apart() -> None:
    pending = Pending(most=10, max_tries=3)
    pending.begin_turn(("a", 3))
    pending.keep(1, [("line",)])
    pending.begin_turn(None)
    pending.keep(2, [("line",)])
    assert pending.oldest_position("now") == ("a", 3)
    pending.done(1)
    assert pending.oldest_position("now") is None
    pending.done(2)
    assert pending.oldest_position("now") == "now"


class Run:
    """A spout, a worker with all bolts, and epochs: what is under way is processed, or lost if the worker dies.

    Args:
        emits: how many outputs the spout emits, from 0.
        poison: which of them kill the worker.
        at_markers: whether outputs are done only at the end of an epoch, as behind a transactional sink.
    """

    def __init__(self, emits: int, poison: set[int], *, max_tries: int, most: int, at_markers: bool) -> None:
        self.pending = Pending(most=most, max_tries=max_tries)
        self.emits = emits
        self.poison = poison
        self.at_markers = at_markers
        self.emitted = self.deaths = self.epochs = 0
        self.done: list[int] = []
        self.given_up: list[Kept] = []
        self._next_root = 1
        self._under_way: dict[int, list[int]] = {}

    @property
    def is_over(self) -> bool:
        return self.emitted == self.emits and not len(self.pending)

    def epoch(self, *, together: int, new: int, killed_after: int | None = None) -> None:
        """Emits, sends a marker, processes, and hears what became of it."""
        self.epochs += 1
        self._emit_new(new // 2, together)
        if self.pending.wants_trial:
            self.pending.begin_trial()
        self._emit_again()
        self._emit_new(new - new // 2, together)
        processed = []
        died = False
        for number, (root, outputs) in enumerate([*self._under_way.items()]):
            died = killed_after == number or not self.poison.isdisjoint(outputs)
            if died:
                self.deaths += 1
                break
            processed.append(root)
        if not died or not self.at_markers:
            for root in processed:
                self.done += self.pending.done(root)
                del self._under_way[root]
        for root in self._under_way:
            assert self.pending.failed(root, lost=True) is None
        self._under_way.clear()
        if self.pending.has_emitted_trial and (hopeless := self.pending.end_trial()) is not None:
            self.given_up.append(hopeless)

    def _emit_new(self, count: int, together: int) -> None:
        new = max(0, min(count, self.pending.room, self.emits - self.emitted))
        self.pending.begin_turn(self.emitted)
        for first in range(self.emitted, self.emitted + new, together):
            outputs = [*range(first, min(first + together, self.emitted + new))]
            self.pending.keep(self._next_root, outputs)
            self._under_way[self._next_root] = outputs
            self._next_root += 1
        self.emitted += new

    def _emit_again(self) -> None:
        while (kept := self.pending.take_again()) is not None:
            self.pending.keep_again(self._next_root, kept)
            self._under_way[self._next_root] = [*kept.outputs]
            self._next_root += 1


def cuts(outputs: int) -> Iterator[int]:
    """The sizes of the groups in which the last of so many suspects is found, one by one."""
    while outputs > 1:
        outputs = -(-outputs // 22)
        yield outputs


@given(
    emits=st.integers(1, 300),
    poison=st.sets(st.integers(0, 299), max_size=4),
    max_tries=st.integers(1, 5),
    most=st.integers(1, 200),
    at_markers=st.booleans(),
    together=st.sampled_from([1, 3, 64]),
    new=st.integers(1, 100),
)
def test_exactly_what_kills_workers_is_given_up_after_a_bounded_number_of_deaths(
    emits: int, poison: set[int], max_tries: int, most: int, at_markers: bool, together: int, new: int
) -> None:
    poison = {number for number in poison if number < emits}
    run = Run(emits, poison, max_tries=max_tries, most=most, at_markers=at_markers)
    # Once among new ones, once with all that was lost then, once for each cut, and until it was lost often enough. And
    # when another one kills the worker that has one accused, that one has to be tried once more.
    each = 2 + len([*cuts(most)]) + max_tries + len(poison)
    while not run.is_over:
        run.epoch(together=together, new=new)
        assert run.deaths <= each * len(poison)
    assert sorted(run.done) == [number for number in range(emits) if number not in poison]
    assert sorted(kept.outputs[0] for kept in run.given_up) == sorted(poison)
    assert all(kept.losses >= max_tries for kept in run.given_up)
    assert all(kept.losses_alone >= min(2, max_tries) for kept in run.given_up)


@pytest.mark.parametrize("at_markers", [True, False])
@pytest.mark.parametrize(("lost", "deaths"), [(1, 4), (22, 4), (484, 5), (9_900, 6)])
@pytest.mark.parametrize("where", [0.0, 0.37, 1.0])
def test_one_among_many_is_found_by_few_deaths_while_new_ones_flow(
    lost: int, deaths: int, where: float, at_markers: bool
) -> None:
    guilty = round(where * (lost - 1))
    run = Run(10 * lost + 100_000, {guilty}, max_tries=4, most=10_000, at_markers=at_markers)
    run.epoch(together=1, new=lost, killed_after=0)
    while not run.given_up:
        before = run.emitted
        run.epoch(together=64, new=50)
        assert run.emitted == before + 50, "new ones are emitted all the time"
    assert run.deaths <= deaths
    assert [kept.outputs for kept in run.given_up] == [[guilty]]
    assert run.epochs <= 4 + 22 * 4 + 2 * deaths, "that does not take one epoch for each suspect"


@pytest.mark.parametrize("at_markers", [True, False])
@pytest.mark.parametrize("kill_at", range(4, 40))
def test_one_kill_from_outside_costs_no_tuple_while_another_is_sought(kill_at: int, at_markers: bool) -> None:
    run = Run(10_000, {390}, max_tries=4, most=10_000, at_markers=at_markers)
    run.epoch(together=1, new=400, killed_after=0)
    epochs = 1
    while not run.given_up:
        epochs += 1
        run.epoch(together=1, new=0, killed_after=0 if epochs == kill_at else None)
    assert [kept.outputs for kept in run.given_up] == [[390]]


@given(
    kills=st.lists(st.tuples(st.integers(1, 12), st.integers(0, 400)), max_size=4),
    at_markers=st.booleans(),
    max_tries=st.integers(2, 5),
    new=st.integers(1, 200),
)
def test_workers_killed_from_outside_cost_no_tuple_and_throttle_nothing(
    kills: list[tuple[int, int]], at_markers: bool, max_tries: int, new: int
) -> None:
    kills = kills[: max_tries - 1]
    run = Run(10**9, set(), max_tries=max_tries, most=5_000, at_markers=at_markers)
    for epochs, after in kills:
        for _ in range(epochs):
            run.epoch(together=64, new=new)
        run.epoch(together=64, new=new, killed_after=after)
    for _ in range(1 + 22 * (len(kills) + 1)):
        before = run.emitted
        run.epoch(together=64, new=new)
        assert run.emitted == before + new, "as many as it wants to emit"
    assert sorted(run.done) == [*range(run.emitted)]
    assert not run.given_up
    assert not len(run.pending)


@given(st.randoms(use_true_random=False), st.lists(st.sampled_from("tdflabe"), max_size=80), st.integers(1, 4))
def test_a_spout_that_goes_on_elsewhere_has_the_same_pending(
    draw: random.Random, steps: list[str], max_tries: int
) -> None:
    pending = Pending(most=1000, max_tries=max_tries)
    position, root = 0, 0
    for step in steps:
        if step == "t":
            pending.begin_turn(position)
            for _ in range(draw.randrange(4)):
                some = [*range(position, position + draw.randrange(1, 4))]
                root, position = root + 1, position + len(some)
                pending.keep(root, some)
        elif step == "d" and pending.roots:
            pending.done(draw.choice(pending.roots))
        elif step in "fl" and pending.roots:
            pending.failed(draw.choice(pending.roots), lost=step == "l")
        elif step == "a" and (again := pending.take_again()) is not None:
            root += 1
            pending.keep_again(root, again)
        elif step == "b" and pending.wants_trial:
            pending.begin_trial()
        elif step == "e" and pending.has_emitted_trial:
            pending.end_trial()
    elsewhere = Pending(most=1000, max_tries=max_tries)
    elsewhere.restore(pending.state(str), int)
    assert len(elsewhere) == len(pending)
    assert elsewhere.oldest_position(position) == pending.oldest_position(position)
    assert elsewhere.done_stretches(position) == pending.done_stretches(position)
    assert elsewhere.given_since_oldest == pending.given_since_oldest
    assert elsewhere.roots == pending.roots
    left = [number for known in pending.roots for number in pending.outputs_of(known)]
    assert left == [number for known in elsewhere.roots for number in elsewhere.done(known)]
    while len(elsewhere):  # all else is emitted again, and that is all
        if elsewhere.wants_trial:
            elsewhere.begin_trial()
        again = elsewhere.take_again()
        assert again is not None
        root += 1
        elsewhere.keep_again(root, again)
        left += elsewhere.done(root)
        if elsewhere.has_emitted_trial:
            elsewhere.end_trial()
    assert elsewhere.room == 1000
    assert len(left) == len({*left}) == len(pending)
