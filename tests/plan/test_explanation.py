"""What people are told about an assignment."""

import msgspec

from penstock.plan.assignment import Assignment
from penstock.plan.explanation import explain
from penstock.plan.load import Load, Traffic
from penstock.plan.schedulers.base import PlanRequest
from tests.plan.hand_made import cluster, component, shaped


def wordcount(busy: float = 0.2) -> PlanRequest:
    """lines[0-1] are tasks 0 and 1, split[0-1] 2 and 3, count[0-2] 4 to 6; a worker is on each of n0 and n1, twice."""
    request = shaped(
        cluster(2, 2),
        component("lines", 2),
        component("split", 2, ("lines", "Shuffle")),
        component("count", 3, ("split", "By")),
    )
    return msgspec.structs.replace(
        request,
        current=Assignment(number=1, worker_of={0: 0, 1: 2, 2: 1, 3: 3, 4: 0, 5: 2, 6: 1}),
        load=Load(busy_share={task.id: busy for task in request.tasks}),
        traffic=Traffic(tuples_per_s={(0, 2): 400.0, (1, 3): 300.0, (2, 4): 1200.0, (3, 5): 1000.0}, bytes_per_s={}),
    )


AFTER = Assignment(number=2, worker_of={0: 0, 1: 2, 2: 0, 3: 2, 4: 0, 5: 2, 6: 1})


def test_the_picture_has_nodes_workers_and_names_before_and_after() -> None:
    text = explain(wordcount(), AFTER, node_names={"n0": "alpha"})

    before, after = text.split("after\n")[:2]
    assert "┌ node alpha" in before
    assert "┌ node n1" in before
    assert "│ worker 1   ████░░░░░░   40%  split[0] count[2]" in before
    assert "│ worker 0   ██████░░░░   60%  lines[0] split[0] count[0]" in after
    assert "│ worker 3   ░░░░░░░░░░    0%  (empty)" in after


def test_traffic_is_drawn_by_where_it_flows() -> None:
    lines = [line.split() for line in explain(wordcount(), AFTER).splitlines()]
    drawn = {tuple(line[:-3]): (line[-2], line[-1]) for line in lines if line[-1:] and "%" in line[-2:][0]}

    assert drawn["within", "workers", "before"] == ("0%", "0")
    assert drawn["after",] in (("100%", "2,900"), ("0%", "0"))
    assert drawn["between", "workers", "before"] == ("100%", "2,900")
    assert drawn["between", "nodes", "before"] == ("0%", "0")
    assert "traffic (tuples/s)" in explain(wordcount(), AFTER)


def test_each_move_has_its_reason() -> None:
    text = explain(wordcount(), AFTER)

    assert "2 of 7 tasks move" in text
    assert "split[0] moves from worker 1 (node n0) to worker 0 (node n0): 1,200 tuples/s go to count[0] there" in text
    assert "split[1] moves from worker 3 (node n1) to worker 2 (node n1): 1,000 tuples/s go to count[1] there" in text


def test_reasons_other_than_traffic() -> None:
    request = wordcount()
    emptied = msgspec.structs.replace(AFTER, worker_of={**AFTER.worker_of, 6: 0})
    swapped = msgspec.structs.replace(AFTER, worker_of={**request.current.worker_of, 6: 0, 4: 1})  # type: ignore[union-attr]
    gone = msgspec.structs.replace(
        request,
        current=Assignment(number=1, worker_of={**request.current.worker_of, 6: 9}),  # type: ignore[union-attr]
    )

    assert "count[2] moves from worker 1 (node n0) to worker 0 (node n0): so that worker 1 has nothing left" in explain(
        request, emptied
    )
    assert "count[2] moves from worker 1 (node n0) to worker 0 (node n0): to make room for count[0]" in explain(
        request, swapped
    )
    assert "count[2] moves from worker 9, which is gone, to worker 1 (node n0): its worker is gone" in explain(
        gone, AFTER
    )
    assert "worker 1 is 100% busy, more than 80%" in explain(wordcount(busy=0.5), AFTER)


def test_what_placing_cannot_help_is_said() -> None:
    text = explain(msgspec.structs.replace(wordcount(busy=0.5), pinned=frozenset({1})), AFTER)

    assert "note: worker 0 will still be 150% busy, more than 80%" in text
    assert "note: pinned, and not moved: lines[1]" in text


def test_a_first_placement_has_no_before() -> None:
    request = msgspec.structs.replace(wordcount(), current=None, load=None, traffic=None)

    text = explain(request, msgspec.structs.replace(AFTER, number=1))

    assert "before" not in text
    assert "│ worker 0   lines[0] split[0] count[0]" in text
    assert "traffic (tuples/s, by the topology's shape, with one from every spout task)" in text


def test_nothing_moves_is_said_too() -> None:
    request = wordcount()

    assert request.current is not None
    assert "no task moves" in explain(request, msgspec.structs.replace(request.current, number=2))
