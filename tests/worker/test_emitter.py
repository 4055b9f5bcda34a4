"""The loop in C++ that calls user code and emits what it gives: as its reference does, and leaving nothing behind."""

from __future__ import annotations

import asyncio
import gc
import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from penstock._native import ByFunction, ByKey, Cycle, Emitter, FanOut, ToEach
from penstock.topology.emit import Emit
from penstock.topology.groupings import Broadcast, By, Custom, Gather, Grouping, PartialKey, Shuffle, ToOne
from penstock.topology.tuples import tuple_class
from penstock.transport.stable_hash import stable_hash
from penstock.worker.outputs import Outputs, Subscriber
from tests.worker.capturing import FIRST_TARGET, Board, CapturingReceiver, local_lane
from tests.worker.reference_emit import Put, ReferenceEmitter, by_key, in_turn, to_each

FIELDS = ("a", "b")


class Pair(NamedTuple):
    """Not quite a plain tuple."""

    a: Any
    b: Any


class Raise(NamedTuple):
    """Instead of an output: what user code raises there."""

    error: type[BaseException]


class Returned(NamedTuple):
    """What one call of user code does: `how` it hands over its outputs."""

    how: str
    outputs: list[Any]

    def __call__(self) -> Any:
        for output in self.outputs if self.how in {"one", "list"} else ():
            if isinstance(output, Raise):
                raise output.error
        if self.how == "one":
            return self.outputs[0] if self.outputs else None
        if self.how == "list":
            return [*self.outputs]
        if self.how == "list of its own class":
            return Several(self.outputs)
        return self.generate() if self.how == "generator" else iter(self.generate())

    def generate(self) -> Iterator[Any]:
        for output in self.outputs:
            if isinstance(output, Raise):
                raise output.error
            yield output


class Several(list[Any]):
    """Not quite a list."""

    def __iter__(self) -> Iterator[Any]:
        return Returned("generator", [*super().__iter__()]).generate()


keys = st.sampled_from(["x", "y", "z", 1, 1.0, True, 0.0, -0.0, float("nan"), None, b"x", (1, float("nan"))])
odd_keys = st.sampled_from([[1, 2], {"k": 1}, {3}, object, bytearray(b"x")])
rows = st.tuples(keys | odd_keys, st.integers(0, 9))
outputs = (
    rows
    | rows
    | rows.map(lambda row: Pair(*row))
    | rows.map(Emit)
    | rows.map(lambda row: tuple_class("before", "default", FIELDS)(*row))
    | st.sampled_from([None, (), ("short",), "text", b"bytes", 7, {"a": 1}, Emit("text"), [("nested", 1)]])
    | st.sampled_from([Raise(ValueError), Raise(SystemExit), Raise(asyncio.CancelledError), Raise(StopAsyncIteration)])
)
HOWS = ["one", "list", "list of its own class", "generator", "iterator"]
calls = st.lists(st.builds(Returned, st.sampled_from(HOWS), st.lists(outputs, max_size=12)), max_size=12)
generators = st.lists(st.builds(Returned, st.just("generator"), st.lists(outputs, max_size=12)), max_size=12)

GROUPINGS: dict[str, tuple[Grouping, Callable[[Sequence[list[Any]]], Put]]] = {
    "to one": (ToOne(), lambda lists: to_each(lists[:1])),
    "broadcast": (Broadcast(), to_each),
    "shuffle": (Shuffle(), in_turn),
    "by one field": (By(("a",)), lambda lists: by_key(lists, [0])),
    "by two fields": (By(("b", "a")), lambda lists: by_key(lists, [1, 0])),
    "gather": (Gather(("a",)), lambda lists: by_key(lists, [0])),
}
groupings = st.lists(st.tuples(st.sampled_from(sorted(GROUPINGS)), st.integers(1, 4)), max_size=3)


def stage(kinds: list[tuple[str, int]]) -> tuple[Outputs, list[list[Any]], list[Put], list[list[Any]]]:
    """The real outputs and the lists of their lanes, and the same for the reference."""
    subscribers, lists, puts, expected = [], [], [], []
    for number, (name, tasks) in enumerate(kinds):
        # One lane of a keyed grouping is a straight way, which looks at no keys: the reference has no such shortcut.
        tasks = max(2, tasks) if name.startswith("by") else tasks
        grouping, reference = GROUPINGS[name]
        lanes = [
            local_lane(CapturingReceiver(), target=FIRST_TARGET + 10 * number + task, fields=FIELDS)
            for task in range(tasks)
        ]
        subscribers.append(Subscriber(grouping, lanes, FIELDS))
        lists += [lane.tuples for lane in lanes]
        mine: list[list[Any]] = [[] for _ in lanes]
        puts.append(reference(mine))
        expected += mine
    real = Outputs("emitter", {"default": FIELDS}, {"default": subscribers})
    return real, lists, puts, expected


def run_both(
    kinds: list[tuple[str, int]], given_calls: list[Returned], piece: int, *, keyed: bool, yields: bool
) -> None:
    real, lists, puts, expected = stage(kinds)
    reference = ReferenceEmitter(puts, piece)
    real.piece_tuples = piece
    tuples = [*range(len(given_calls))]
    names = [f"key {number}" for number in tuples] if keyed else None
    seen: list[list[Any]] = [[], []]

    def processing(log: list[Any]) -> Callable[..., Any]:
        def process(*args: Any) -> Any:
            log.append(args)
            return given_calls[args[-1]]()

        return process

    def failing(log: list[Any]) -> Callable[[BaseException, Any], None]:
        return lambda error, culprit: log.append((type(error), str(error), repr(culprit)))

    steps = (reference.run_generators if yields else reference.run_calls)(
        processing(seen[1]), tuples, names, failing(seen[1])
    )
    rest = real.run_calls(processing(seen[0]), tuples, names, failing(seen[0]), yields)
    has_more = rest is not None
    while True:
        assert next(steps, "done") == (None if has_more else "done")
        assert real.emitted == reference.emitted
        assert repr(lists) == repr(expected)  # where a NaN is one, too
        assert seen[0] == seen[1]
        if not has_more:
            return
        assert rest is not None
        has_more = rest.go_on()


@given(groupings, calls, st.integers(1, 6), st.booleans())
@example([("by one field", 2)], [Returned("list", [("x", 1), ({3}, 2), ("y", 3)])], 6, False)
@example([("by one field", 2)], [Returned("list", [("x", 1), ({3}, 2), ("y", 3)])], 2, False)
@example([("by one field", 2)], [Returned("list", [("x", 1), ("y", 2)])], 2, False)
@example([("by one field", 2)], [Returned("one", [({3}, 2)])], 2, False)
def test_functions_emit_as_in_the_reference(
    kinds: list[tuple[str, int]], given_calls: list[Returned], piece: int, keyed: bool
) -> None:
    run_both(kinds, given_calls, piece, keyed=keyed, yields=False)


@given(groupings, generators, st.integers(1, 6), st.booleans())
def test_generators_emit_as_in_the_reference(
    kinds: list[tuple[str, int]], given_calls: list[Returned], piece: int, keyed: bool
) -> None:
    run_both(kinds, given_calls, piece, keyed=keyed, yields=True)


def ignored(error: BaseException, culprit: Any) -> None:
    """Nothing is expected to fail."""
    raise AssertionError(culprit) from error


@pytest.mark.parametrize("yields", [False, True])
@pytest.mark.parametrize("error", [KeyboardInterrupt, GeneratorExit])
def test_what_is_no_error_of_user_code_comes_through_and_what_came_before_is_emitted(
    error: type[BaseException], yields: bool
) -> None:
    def process(n: int) -> Iterator[Any]:
        yield (f"first {n}",)
        if n == 2:
            raise error
        yield (f"second {n}",)

    board = Board(ToOne(), tasks=1)
    with pytest.raises(error):
        board.outputs.run_calls(process, [1, 2, 3], None, ignored, yields)

    assert board.outputs.emitted == 3
    assert board.flush() == [[("first 1",), ("second 1",), ("first 2",)]]


def test_who_is_told_of_a_failure_may_end_it_all() -> None:
    def refuse(error: BaseException, _: Any) -> None:
        raise error

    board = Board(By(("word",)))
    with pytest.raises(TypeError, match="set cannot be a key"):
        board.outputs.run_calls(lambda tup: (tup,), ["a", {1}, "b"], None, refuse, False)
    assert board.outputs.emitted == 1
    assert board.flush().count([]) == 2


def test_an_error_is_told_with_where_it_was_raised() -> None:
    told: list[BaseException] = []

    def process(_: Any) -> None:
        message = "no"
        raise LookupError(message)

    Board(ToOne()).outputs.run_calls(process, [1], None, lambda error, _: told.append(error), False)

    trace = told[0].__traceback__
    assert trace is not None
    assert trace.tb_frame.f_code is process.__code__
    assert trace.tb_next is None


def test_what_is_not_routed_in_the_core_is_put_by_functions() -> None:
    board = Board(Custom(lambda values, count: len(values[0]) % count))
    told: list[tuple[str, Any]] = []
    board.outputs.run_calls(
        lambda tup: [(tup,), (tup * 2,)],
        ["a", "bb"],
        None,
        lambda error, culprit: told.append((str(error), culprit)),
        False,
    )
    assert board.flush() == [[], [("a",), ("bbbb",)], [("aa",), ("bb",)]]
    assert told == []
    board = Board(PartialKey(("word",)), tasks=4)
    board.outputs.run_calls(lambda _: ("hot",), range(10), None, ignored, False)
    assert sorted(map(len, board.flush())) == [0, 0, 5, 5]


def test_an_order_that_changes_is_taken_up_from_its_beginning() -> None:
    lists: list[list[Any]] = [[], [], []]
    cycle = Cycle(lists)
    for number in range(4):
        cycle.put((number,))
    cycle.take_up([2, 2, 1])
    for number in range(4, 8):
        cycle.put((number,))
    assert lists == [[(0,), (3,)], [(1,), (6,)], [(2,), (4,), (5,), (7,)]]
    with pytest.raises(IndexError):
        cycle.take_up([3])
    with pytest.raises(ValueError, match="at least"):
        cycle.take_up([])


ascii_text = st.integers(0, 40).flatmap(
    lambda length: st.text(st.characters(codec="ascii"), min_size=length, max_size=length)
)


@given(ascii_text | st.text(), st.integers(1, 1 << 12))
def test_a_text_goes_where_its_stable_hash_says(text: str, count: int) -> None:
    lists: list[list[Any]] = [[] for _ in range(count)]
    ByKey(lists, [0], {}, lambda key: stable_hash(key) % count).put((text,))
    assert lists[stable_hash(text) % count] == [(text,)]


@pytest.mark.parametrize("length", range(40))
def test_a_text_of_any_length_goes_where_its_stable_hash_says(length: int) -> None:
    count = 65_521
    lists: list[list[Any]] = [[] for _ in range(count)]
    for text in ("a" * length, "".join(chr(32 + position) for position in range(length))):
        ByKey(lists, [0], {}, lambda key: stable_hash(key) % count).put((text,))
        assert lists[stable_hash(text) % count].pop() == (text,)


def test_wrong_parts_are_refused() -> None:
    with pytest.raises(TypeError, match="wanted lists"):
        ToEach([()])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="at least"):
        ByKey([[]], [], {}, hash)
    with pytest.raises(ValueError, match="at least"):
        ByKey([], [0], {}, hash)
    with pytest.raises(IndexError, match="there is no list 7"):
        ByKey([[]], [0], {}, lambda _: 7).put((b"a",))
    with pytest.raises(RuntimeError):
        FanOut([object()])  # type: ignore[list-item]
    with pytest.raises(RuntimeError, match="without a routing"):
        Emitter((Exception,)).put(("a",))


def test_references_are_given_back() -> None:
    """Of tuples, keys, results, generators and errors: as many as before, after each way through the loop."""
    board = Board(By(("word",)))
    tup, key, row, odd = ("in",), "key of its own", ("a word of its own",), {"no": "output"}
    answers: list[Callable[[], Any]] = [
        lambda: row,
        lambda: [row, row],
        lambda: [row] * 20,
        lambda: iter([row]),
        lambda: (one for one in [row, odd, row]),
        lambda: [row, odd],
        lambda: odd,
        lambda: Emit(row),
        lambda: 1 / 0,
        lambda: ({1, 2},),
    ]
    board.outputs.piece_tuples = 10

    def once() -> list[int]:
        for answer in answers:
            rest = board.outputs.run_calls(lambda _, __, answer=answer: answer(), [tup], [key], lambda *_: None, False)
            while rest is not None and rest.go_on():
                pass
        for lane in board.lanes:
            lane.tuples.clear()
        return [sys.getrefcount(one) for one in (tup, key, row, odd, None, row[0])]

    once()
    before = once()
    after = [once() for _ in range(50)][-1]
    # None is in use all over the interpreter; a leak of ours would be 50 times some.
    assert all(abs(now - then) < 25 for now, then in zip(after, before, strict=True))
    assert after[:4] == before[:4]


def test_cycles_of_routings_and_emitters_are_collected() -> None:
    class Held:
        """What is in a cycle with all of them."""

        def put(self, values: tuple[Any, ...]) -> int:
            raise NotImplementedError(values)

    def cyclic() -> weakref.ref[Held]:
        held, board = Held(), Board(ToOne())
        calls = board.outputs.run_calls(lambda _: iter([("a",)] * 999), [1], None, ignored, False)
        assert calls is not None
        held.calls, held.outputs = calls, board.outputs  # type: ignore[attr-defined]
        held.routings = [  # type: ignore[attr-defined]
            ByFunction(held.put),
            FanOut([ByFunction(held.put)]),
            ByKey([[]], [0], {}, held.put),
            ToEach([[(held,)]]),
            Cycle([[(held,)]]),
        ]
        board.lanes[0].tuples.append((held,))
        return weakref.ref(held)

    gone = cyclic()
    gc.collect()
    assert gone() is None
