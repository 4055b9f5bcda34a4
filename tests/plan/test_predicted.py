"""What is predicted of an assignment: by what was measured, and by the shape alone."""

import msgspec
import pytest
from hypothesis import given

from penstock.plan.assignment import Assignment
from penstock.plan.flows import flows_of
from penstock.plan.load import Load, Traffic
from penstock.plan.predicted import Volume, predict
from penstock.plan.schedulers.base import PlanRequest
from penstock.plan.schedulers.registry import scheduler
from tests.plan.hand_made import cluster, component, measured, shaped
from tests.plan.strategies import measured_requests
from tests.tries import tried


def pairs(request: PlanRequest) -> dict[tuple[int, int], float]:
    flows = flows_of(request)
    return dict(
        zip(zip(flows.source.tolist(), flows.target.tolist(), strict=True), flows.tuples_per_s.tolist(), strict=True)
    )


def test_measured_traffic_is_told_by_where_it_flows() -> None:
    request = measured(cluster(2, 2), {(0, 1): 1.0, (1, 2): 10.0, (2, 3): 100.0}, {0: 0.1, 1: 0.2, 2: 0.3, 3: 0.9})
    request = msgspec.structs.replace(
        request,
        traffic=Traffic(tuples_per_s=request.traffic.tuples_per_s, bytes_per_s={(2, 3): 5000.0}),  # type: ignore[union-attr]
    )

    predicted = predict(request, Assignment(number=1, worker_of={0: 0, 1: 0, 2: 1, 3: 2}))

    assert predicted.tuples_per_s == Volume(within_workers=1.0, between_workers=10.0, between_nodes=100.0)
    # Where bytes were not measured, as within a worker, a tuple is as large as the others.
    assert predicted.bytes_per_s == Volume(within_workers=50.0, between_workers=500.0, between_nodes=5000.0)
    assert (predicted.busiest_worker, predicted.busiest_node) == (2, "n1")
    assert predicted.busiest_worker_share == pytest.approx(0.9)
    assert predicted.busiest_node_share == pytest.approx(0.45)
    assert (predicted.workers_used, predicted.nodes_used) == (3, 2)
    assert predicted.traffic_measured
    assert predicted.load_measured


def test_a_share_is_of_the_workers_speed_and_the_nodes_cores() -> None:
    request = measured(cluster(1, 2), {(0, 1): 1.0}, {0: 0.6, 1: 0.2})
    slots = tuple(msgspec.structs.replace(slot, speed=2.0) for slot in request.slots)
    request = msgspec.structs.replace(request, slots=slots, node_cores={"n0": 1.0})

    predicted = predict(request, Assignment(number=1, worker_of={0: 0, 1: 1}))

    assert predicted.busiest_worker_share == pytest.approx(0.3)
    assert predicted.busiest_node_share == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("grouping", "flows"),
    [
        ("Shuffle", {(0, 2): 0.5, (0, 3): 0.5, (1, 2): 0.5, (1, 3): 0.5}),
        ("By", {(0, 2): 0.5, (0, 3): 0.5, (1, 2): 0.5, (1, 3): 0.5}),
        ("PartialKey", {(0, 2): 0.5, (0, 3): 0.5, (1, 2): 0.5, (1, 3): 0.5}),
        ("Broadcast", {(0, 2): 1.0, (0, 3): 1.0, (1, 2): 1.0, (1, 3): 1.0}),
        ("ToOne", {(0, 2): 1.0, (1, 2): 1.0}),
    ],
)
def test_the_shape_says_what_is_likely(grouping: str, flows: dict[tuple[int, int], float]) -> None:
    assert pairs(shaped(cluster(1, 1), component("s", 2), component("b", 2, ("s", grouping)))) == flows


def test_a_bolt_passes_on_what_it_takes() -> None:
    request = shaped(
        cluster(1, 1), component("s", 3), component("b", 1, ("s", "Shuffle")), component("c", 2, ("b", "Broadcast"))
    )

    assert pairs(request) == {(0, 3): 1.0, (1, 3): 1.0, (2, 3): 1.0, (3, 4): 3.0, (3, 5): 3.0}


def test_local_or_shuffle_stays_on_the_worker_where_it_can() -> None:
    request = shaped(cluster(2, 2), component("s", 2), component("b", 2, ("s", "LocalOrShuffle")))

    apart = predict(request, Assignment(number=1, worker_of={0: 0, 1: 1, 2: 0, 3: 2}))

    # s[0] has b[0] beside it; s[1] has nobody, and sends half to its neighbour and half to the other node.
    assert apart.tuples_per_s == Volume(within_workers=1.0, between_workers=0.5, between_nodes=0.5)


def test_of_very_many_equal_pairs_only_some_are_guessed() -> None:
    request = shaped(cluster(2, 2), component("s", 300), component("b", 300, ("s", "Shuffle")))

    flows = pairs(request)

    assert len(flows) == 300 * 64
    assert sum(flows.values()) == pytest.approx(300.0)
    assert {target for _, target in flows} == set(range(300, 600))


def test_a_task_that_was_not_measured_is_like_its_siblings() -> None:
    request = shaped(cluster(1, 1), component("s", 1), component("b", 3, ("s", "Shuffle")))
    request = msgspec.structs.replace(request, load=Load(busy_share={0: 0.0, 1: 0.2, 2: 0.4}))

    assert predict(request, scheduler("even").plan(request)).busiest_worker_share == pytest.approx(0.9)


def test_without_measurements_all_tasks_together_fill_the_workers() -> None:
    request = shaped(cluster(2, 2), component("s", 7))

    predicted = predict(request, scheduler("even").plan(request))

    assert predicted.busiest_worker_share == pytest.approx(0.8)
    assert not predicted.load_measured
    assert not predicted.traffic_measured


@tried(50)
@given(request=measured_requests())
def test_no_placement_changes_how_much_flows(request: PlanRequest) -> None:
    even, together = (
        predict(request, assignment)
        for assignment in (
            scheduler("even").plan(request),
            Assignment(number=1, worker_of=dict.fromkeys((task.id for task in request.tasks), request.slots[0].worker)),
        )
    )

    assert even.tuples_per_s.total == pytest.approx(together.tuples_per_s.total)
    assert even.bytes_per_s.total == pytest.approx(together.bytes_per_s.total)
    assert together.tuples_per_s.within_workers == pytest.approx(together.tuples_per_s.total)
