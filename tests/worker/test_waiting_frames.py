"""What waits leaves by the policy, and whatever relies on an order finds it."""

from collections.abc import Callable, Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.flow.backlog import OutgoingPolicy, policy_of
from penstock.transport.frames import FrameKind
from penstock.transport.ring import Route
from penstock.worker.bundles import WaitingFrame
from penstock.worker.waiting_frames import ByTask, InOneLine, WaitingFrames

SPLIT, PARSE = 0, 1
"""Operators, which are the edges here, too."""
OF_TASKS = (FrameKind.TUPLES, FrameKind.BATCH, FrameKind.MARKER)
FIRST = (FrameKind.CREDIT, FrameKind.NEWS, FrameKind.PASSED, FrameKind.GOT, FrameKind.PRESSURE, FrameKind.REPAID)
OF_EDGES = (FrameKind.CAST, FrameKind.TREE, FrameKind.COMBINED)
IN_PLACE = (FrameKind.MET, FrameKind.HANDOVER, FrameKind.TAKEN, FrameKind.SWITCHED, FrameKind.CLEARED)


def place_of(route: Route) -> tuple[int, int]:
    return (~route.stream, 0) if route.flags in OF_EDGES else (route.stream, route.source)


def by_task(policy: OutgoingPolicy = "lbf", interval_ns: int = 0) -> ByTask:
    return ByTask(
        place_of=place_of,
        policy=lambda: policy_of(policy, interval_ns=interval_ns),
        recount=lambda *_: None,
        steady_ns=lambda: 0,
    )


def frame(
    number: int, *, kind: int = FrameKind.TUPLES, source: int = 0, edge: int = SPLIT, tuples: int = 1
) -> WaitingFrame:
    return WaitingFrame(Route(target=9, source=source, stream=edge, flags=kind), str(number).encode(), tuples)


def take(waiting: WaitingFrames, held: Sequence[int] = ()) -> int:
    found = waiting.next(held, anew=True)
    assert found is not None
    waiting.gone()
    return int(found.payload)


def rest(waiting: WaitingFrames) -> list[int]:
    return [take(waiting) for _ in range(len(waiting))]


kinds = st.sampled_from([*OF_TASKS, *OF_EDGES, *FIRST, *IN_PLACE])
frames = st.builds(
    frame, st.just(0), kind=kinds, source=st.integers(0, 3), edge=st.integers(0, 1), tuples=st.integers(0, 9)
)
steps = st.lists(st.one_of(frames, st.none()), max_size=80)
"""None: something can be sent."""


@given(steps, st.sampled_from(["round_robin", "lbf"]))
def test_all_leave_once_and_whoever_relies_on_an_order_finds_it(
    steps: list[WaitingFrame | None], policy: OutgoingPolicy
) -> None:
    waiting = by_task(policy)
    sent: list[Route] = []
    left: list[int] = []
    for step in steps:
        if step is not None:
            waiting.add(msgspec.structs.replace(step, payload=str(len(sent)).encode()))
            sent.append(step.route)
        elif waiting:
            left.append(take(waiting))
    left += rest(waiting)

    assert sorted(left) == list(range(len(sent)))
    assert waiting.next() is None
    place = {number: at for at, number in enumerate(left)}
    for later, route in enumerate(sent):
        for earlier, before in enumerate(sent[:later]):
            is_kept = (
                before.flags in IN_PLACE
                or route.flags in IN_PLACE
                or (before.flags in FIRST and route.flags in FIRST)
                or (before.flags in OF_TASKS and route.flags in OF_TASKS and place_of(before) == place_of(route))
                or (before.flags in OF_EDGES and route.flags in OF_EDGES and before.stream == route.stream)
            )
            assert not is_kept or place[earlier] < place[later]


@given(st.lists(frames, min_size=1, max_size=40))
def test_what_is_first_in_line_when_it_is_asked_for_is_sent_before_tuples(added: list[WaitingFrame]) -> None:
    waiting = by_task()
    for number, one in enumerate(added):
        waiting.add(msgspec.structs.replace(one, payload=str(number).encode()))
    kinds_left = [added[number].route.flags for number in rest(waiting)]
    stretch: list[int] = []
    for kind in [*kinds_left, FrameKind.MET]:
        if kind in IN_PLACE:
            assert stretch == sorted(stretch, key=lambda one: one not in FIRST)
            stretch = []
        else:
            stretch.append(kind)


def test_the_task_with_most_goes_first() -> None:
    waiting = by_task()
    for number, source in enumerate([1, 1, 2, 2, 2, 3]):
        waiting.add(frame(number, source=source))
    assert rest(waiting) == [2, 0, 3, 1, 4, 5]


def test_an_operator_with_one_task_keeps_its_places_in_the_line() -> None:
    waiting = by_task()
    for number, (edge, source) in enumerate([(SPLIT, 1), (PARSE, 7), (SPLIT, 2), (SPLIT, 2), (PARSE, 7), (SPLIT, 2)]):
        waiting.add(frame(number, edge=edge, source=source))
    left = rest(waiting)
    assert left == [2, 1, 3, 0, 4, 5]
    assert [left.index(number) for number in (1, 4)] == [1, 4]


def test_what_was_tried_stays_the_next_until_it_has_gone() -> None:
    waiting = by_task()
    waiting.add(frame(0, source=1), tried=True)
    for number in (1, 2):
        waiting.add(frame(number, source=2))
    waiting.add(frame(3, kind=FrameKind.CREDIT))
    tried = waiting.next()
    assert tried is not None
    assert tried.payload == b"0"
    waiting.gone()
    assert rest(waiting) == [3, 1, 2]


def test_operators_that_are_held_let_others_pass() -> None:
    waiting = by_task()
    for number, (edge, source) in enumerate([(SPLIT, 1), (PARSE, 7), (SPLIT, 2)]):
        waiting.add(frame(number, edge=edge, source=source))
    waiting.add(frame(3, kind=FrameKind.NEWS))
    assert [take(waiting, held=[SPLIT]), take(waiting, held=[SPLIT])] == [3, 1]
    assert waiting.next([SPLIT], anew=True) is None
    assert rest(waiting) == [0, 2]


@pytest.mark.parametrize("make", [by_task, InOneLine])
def test_what_is_forgotten_is_counted(make: Callable[[], WaitingFrames]) -> None:
    waiting = make()
    for number, kind in enumerate((FrameKind.TUPLES, FrameKind.CREDIT, FrameKind.MET, FrameKind.TUPLES)):
        waiting.add(frame(number, kind=kind, tuples=5 if kind == FrameKind.TUPLES else 0))
    assert waiting.clear() == 10
    assert (len(waiting), waiting.next()) == (0, None)
    waiting.add(frame(4))
    assert rest(waiting) == [4]


def test_each_operator_has_the_backlog_of_its_largest_task() -> None:
    waiting = by_task()
    for number, (edge, source, tuples) in enumerate([(SPLIT, 1, 5), (SPLIT, 2, 3), (SPLIT, 2, 4), (PARSE, 7, 1)]):
        waiting.add(frame(number, edge=edge, source=source, tuples=tuples))
    assert dict(waiting.backlogs()) == {SPLIT: 7, PARSE: 1}
    rest(waiting)
    assert dict(waiting.backlogs()) == {}
