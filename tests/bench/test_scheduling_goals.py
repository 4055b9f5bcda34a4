"""Goals and tables of the scheduling benchmark."""

import pytest

from bench.scheduling.goals import goals
from bench.scheduling.measured import Cell, Measured, Moment, Overload, Sample
from bench.scheduling.placement import OneWorker
from bench.scheduling.plan import EVEN, FLOOR, FULL, PENSTOCK, QUICK
from bench.scheduling.rates import Chosen
from bench.scheduling.tables import tables
from bench.scheduling.window import Times
from penstock.control.metrics import TrafficMetrics
from penstock.devcluster.settings import Shape
from penstock.plan.cluster import WorkerSlot
from penstock.plan.schedulers.base import PlanRequest
from penstock.plan.shape import shape_of
from penstock.plan.tasks import tasks_of


def samples(*means_ms: float) -> list[Sample]:
    return [
        Sample(
            times=Times(tuples=10, mean_ms=mean_ms, p50_ms=mean_ms, p99_ms=2 * mean_ms),
            emitted_per_s=100.0,
            traffic=TrafficMetrics(between_nodes_tuples_per_s=3.0, between_nodes_bytes_per_s=2048.0),
            nodes=1,
            workers=2,
            core_share=0.5,
        )
        for mean_ms in means_ms
    ]


def cell(name: str, **means_ms: list[float]) -> Cell:
    chosen = Chosen(per_s=50.0, core_share=0.4, idle_share=0.1)
    names = {"t_storm_1": "t-storm 1", "t_storm_17": "t-storm 1.7", "floor": FLOOR, "offline": "turbo offline"}
    return Cell(name=name, chosen=chosen, rounds={names.get(who, who): samples(*ms) for who, ms in means_ms.items()})


MEASURED = Measured(
    links=Shape(),
    cells=[
        cell(
            "Throughput Test, 4N8W",
            even=[10.0, 20.0, 10.0],
            t_storm_1=[9.0, 16.0, 8.0],
            t_storm_17=[4.0, 8.0, 5.0],
            penstock=[1.0, 2.0, 2.0],
            floor=[1.0, 1.0, 1.0],
        ),
        cell("SOL, 2N8W", even=[10.0], offline=[6.0], penstock=[6.6], floor=[5.0]),
    ],
    overloads=[
        Overload(
            name="Word Count, 4N8W",
            per_s=80.0,
            moments=[
                Moment(at_s=-1.0, mean_ms=2.0, workers=1, nodes=1),
                Moment(at_s=1.0, mean_ms=900.0, workers=1, nodes=1),
                Moment(at_s=2.0, mean_ms=None, workers=3, nodes=2),
                Moment(at_s=3.0, mean_ms=4.0, workers=3, nodes=2),
            ],
        )
    ],
    gaps=[],
    planned=[],
)


def test_reductions_are_against_even_in_the_same_round() -> None:
    found = {goal.name: goal for goal in goals(MEASURED) if goal.value is not None}
    assert {name: goal.value for name, goal in found.items()} == pytest.approx(
        {
            "reduction_by_the_papers_throughput_test_gamma_1": 0.2,
            "reduction_by_penstock_throughput_test_gamma_1": 0.9,
            "reduction_by_the_papers_throughput_test_fewer_nodes": 0.6,
            "reduction_by_penstock_throughput_test_fewer_nodes": 0.9,
            "penstock_over_the_best_other_worst_cell": 1.1,
            "cores_busy_under_even_worst_cell": 0.4,
        }
    )
    assert [goal.holds for goal in found.values()] == [False, True, False, True, False, True]


def test_what_nobody_could_have_saved_is_no_goal_and_is_shown() -> None:
    assert not any("sol" in goal.name for goal in goals(MEASURED))
    promises = next(table for table in tables(MEASURED, 3) if table.title.startswith("Reductions"))
    assert promises.rows[-1] == ("SOL, 2N8W", "turbo offline", "60%", "40%", "34%", "50%", "no")


def test_what_was_not_measured_does_not_hold() -> None:
    assert not any(goal.holds for goal in goals(Measured(links=Shape(), cells=[], overloads=[], gaps=[], planned=[])))


def test_an_overload_is_told_in_four_figures() -> None:
    overloads = next(table for table in tables(MEASURED, 3) if table.title.startswith("All in one"))
    assert overloads.rows == (("Word Count, 4N8W", "2", "900", "2", "4"),)


def test_a_cell_has_a_row_for_each_scheduler() -> None:
    first = tables(MEASURED, 3)[0]
    assert [row[0] for row in first.rows] == [EVEN, "t-storm 1", "t-storm 1.7", PENSTOCK, FLOOR]
    assert first.rows[1] == ("t-storm 1", "9 (8–16)", "0.8 (0.8–0.9)", "18", "1", "2", "3", "2", "0", "0", "50%")


def test_layouts_have_the_papers_names_and_size() -> None:
    names = {experiment.layout.name for experiment in FULL.experiments if experiment.topology == "SOL"}
    assert names == {"8N8W", "4N8W", "2N8W", "4N4W", "2N4W", "2N2W", "1N4W", "1N2W"}
    for experiment in (*FULL.experiments, *QUICK.experiments):
        cluster = experiment.layout.cluster
        assert cluster.nodes * cluster.slots_per_node == experiment.layout.workers
        assert experiment.contestants[0].name == EVEN


def test_one_worker_has_everything() -> None:
    experiment = QUICK.experiments[0]
    tasks = tasks_of(shape_of(experiment.build("/nowhere", None)))
    slots = tuple(WorkerSlot(worker=worker, node=f"node-{worker}") for worker in (3, 1, 2))
    assert set(OneWorker().plan(PlanRequest(tasks=tasks, edges=(), slots=slots)).worker_of.values()) == {1}
