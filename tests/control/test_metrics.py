"""What workers report, summed up."""

from typing import Any

import pytest

from penstock._native import Histogram
from penstock.control.events import Launch
from penstock.control.instructions import SendTo
from penstock.control.metrics import ComponentMetrics, PairCounts, RunMetrics, TaskCounts
from penstock.control.protocol import AskMetrics, Ended, Left, MetricsAnswer, Ready, Report, TaskFailure
from tests.control.stage import Stage


def metrics(stage: Stage) -> RunMetrics:
    (answer,) = stage.says(b"visitor", AskMetrics())
    assert isinstance(answer, SendTo)
    assert isinstance(answer.message, MetricsAnswer)
    return answer.message.metrics


def component(stage: Stage, name: str) -> ComponentMetrics:
    (found,) = (part for part in metrics(stage).components if part.name == name)
    return found


def report(at_s: float, *tasks: TaskCounts, **more: Any) -> Report:
    return Report(at_ns=round(at_s * 1e9), tasks=tasks, **more)


def histogram(*values_ns: int) -> bytes:
    made = Histogram()
    for value_ns in values_ns:
        made.record(value_ns)
    return made.to_bytes()


def test_before_anything_was_reported_everything_is_there_and_zero() -> None:
    empty = metrics(Stage())

    assert [(part.name, part.kind, part.tasks, part.processed) for part in empty.components] == [
        ("lines", "spout", 1, 0),
        ("split", "bolt", 2, 0),
        ("count", "bolt", 1, 0),
    ]
    assert [(task.task, task.worker) for task in empty.tasks] == [(0, None), (1, None), (2, None), (3, None)]
    assert [(edge.edge, edge.tuples, edge.hop) for edge in empty.edges] == [(0, 0, None), (1, 0, None)]
    assert (empty.run_s, empty.end_to_end, empty.lost, empty.unaccounted) == (0.0, None, 0, 0)


def test_tasks_of_a_component_are_summed_over_workers() -> None:
    stage = Stage(workers=2)
    first, second = stage.runs()

    stage.says(first, report(1, TaskCounts(task=2, processed=10, emitted=30, failed=1, busy_ns=5, backlog=4)))
    stage.says(second, report(1, TaskCounts(task=1, processed=1, emitted=2, failed=0, busy_ns=7, backlog=8)))

    split = component(stage, "split")
    assert (split.processed, split.emitted, split.failed, split.backlog) == (11, 32, 1, 12)
    assert [(task.task, task.worker, task.busy_ns) for task in metrics(stage).tasks if task.component == "split"] == [
        (1, 1, 7),
        (2, 0, 5),
    ]


def test_rates_are_those_between_the_last_two_reports_by_the_workers_own_clock() -> None:
    stage = Stage(workers=2)
    first, second = stage.runs()

    stage.says(first, report(50, TaskCounts(task=2, processed=100, emitted=200, busy_ns=0)))
    assert component(stage, "split").processed_per_s == 0
    stage.now_s += 2
    stage.says(first, report(52, TaskCounts(task=2, processed=300, emitted=500, busy_ns=1_500_000_000)))
    stage.says(second, report(7, TaskCounts(task=1, processed=0)))
    stage.says(second, report(8, TaskCounts(task=1, processed=25, busy_ns=250_000_000)))

    split = component(stage, "split")
    assert split.processed_per_s == pytest.approx(100 + 25)
    assert split.emitted_per_s == pytest.approx(150)
    assert split.busiest_share == pytest.approx(0.75)
    assert split.busy_share == pytest.approx(0.5)


def test_the_rate_of_a_worker_that_reports_no_more_is_zero_and_its_counts_stay() -> None:
    stage = Stage(workers=1)
    (there,) = stage.runs()
    stage.says(there, report(1, TaskCounts(task=0, emitted=10)))
    stage.says(there, report(2, TaskCounts(task=0, emitted=20)))

    stage.now_s += 2.5
    assert component(stage, "lines").emitted_per_s == pytest.approx(10)
    stage.now_s += 1
    assert component(stage, "lines").emitted_per_s == 0
    assert component(stage, "lines").emitted == 20


def test_counts_of_a_worker_that_died_are_kept_and_its_backlog_is_not() -> None:
    stage = Stage(workers=1)
    (there,) = stage.runs()
    stage.says(there, report(1, TaskCounts(task=1, processed=10, backlog=5), lost=2))
    stage.says(there, report(2, TaskCounts(task=1, processed=20, backlog=6), lost=3))

    newer = stage.comes(0, attempt=1)
    stage.says(newer, Ready(assignment=1))
    stage.says(newer, report(1, TaskCounts(task=1, processed=4, backlog=1), lost=1))

    split = component(stage, "split")
    assert (split.processed, split.backlog, split.processed_per_s) == (24, 1, 0)
    assert metrics(stage).lost == 4


def test_edges_sum_what_their_senders_counted() -> None:
    stage = Stage(workers=2)
    first, second = stage.runs()

    def to_count(source: int, tuples: int) -> PairCounts:
        return PairCounts(edge=1, source=source, target=3, tuples=tuples, bytes=10 * tuples)

    stage.says(first, report(1, pairs=(to_count(2, 0),)))
    stage.says(first, report(2, pairs=(to_count(2, 40),)))
    stage.says(second, report(1, pairs=(to_count(1, 5),)))

    assert metrics(stage).edges[0].tuples == 0
    edge = metrics(stage).edges[1]
    assert (edge.source, edge.stream, edge.target) == ("split", "default", "count")
    assert (edge.tuples, edge.bytes) == (45, 450)
    assert edge.tuples_per_s == pytest.approx(40)
    assert edge.bytes_per_s == pytest.approx(400)


def test_tuples_that_were_sent_and_never_processed_are_unaccounted_for() -> None:
    stage = Stage(workers=1)
    (there,) = stage.runs()
    pairs = (
        PairCounts(edge=0, source=0, target=1, tuples=50),
        PairCounts(edge=0, source=0, target=2, tuples=50),
        PairCounts(edge=1, source=1, target=3, tuples=10),
    )

    stage.says(there, report(1, TaskCounts(task=1, processed=50), TaskCounts(task=2, processed=43), pairs=pairs))

    assert metrics(stage).unaccounted == 7 + 10


def test_latency_is_lately_for_components_and_since_the_beginning_for_the_whole() -> None:
    stage = Stage(workers=1)
    (there,) = stage.runs()
    stage.says(there, report(1, latency={"count": histogram(1000), "split": histogram(7)}, hops={1: histogram(50)}))
    stage.now_s += 60
    stage.says(there, report(61, latency={"count": histogram(3000, 3000)}))

    told = metrics(stage)
    count = component(stage, "count").latency
    assert count is not None
    assert (count.count, count.max_ns) == (2, 3000)
    assert told.end_to_end is not None
    assert (told.end_to_end.count, told.end_to_end.max_ns) == (3, 3000)
    assert told.end_to_end_histogram is not None
    assert Histogram.from_bytes(told.end_to_end_histogram).min == 1000
    assert component(stage, "split").latency is None
    assert told.edges[1].hop is None


def test_latencies_of_several_reports_are_merged() -> None:
    stage = Stage(workers=2)
    first, second = stage.runs()
    for connection in (first, second, first):
        stage.says(connection, report(1, latency={"count": histogram(10, 20)}, hops={0: histogram(5)}))

    count, hop = component(stage, "count").latency, metrics(stage).edges[0].hop
    assert count is not None
    assert hop is not None
    assert (count.count, count.mean_ns, count.p50_ns, hop.count) == (6, 15.0, 10, 3)


@pytest.mark.parametrize("broken", [{"latency": {"count": b"nonsense"}}, {"hops": {0: b""}}])
def test_a_report_with_a_broken_histogram_is_noted_and_not_counted(broken: dict[str, Any]) -> None:
    stage = Stage(workers=1)
    (there,) = stage.runs()

    stage.says(there, report(1, TaskCounts(task=0, emitted=5), **broken))

    assert component(stage, "lines").emitted == 0
    assert "a report of worker 0 on host-0 (pid 1000, generation 1) cannot be read" in stage.status().notices[-1]


def failure(kind: str, count: int = 1, text: str = "first") -> TaskFailure:
    return TaskFailure(component="split", task=1, kind=kind, message=text, traceback=f"Traceback: {text}", count=count)


def test_failures_are_kept_once_per_kind_with_a_count() -> None:
    stage = Stage(workers=2)
    first, second = stage.runs()
    stage.says(first, failure("ValueError at split.py:3"))
    stage.says(second, failure("ValueError at split.py:3", count=9, text="later"))
    stage.says(second, failure("KeyError at split.py:8", count=100))

    told = [(kind.kind, kind.count, kind.traceback) for kind in metrics(stage).failures]

    assert told == [
        ("KeyError at split.py:8", 100, "Traceback: first"),
        ("ValueError at split.py:3", 10, "Traceback: first"),
    ]


def test_kinds_of_failures_without_end_do_not_fill_the_driver() -> None:
    stage = Stage(workers=1)
    (there,) = stage.runs()
    for number in range(1000):
        stage.says(there, failure(f"kind {number}"))

    told = metrics(stage).failures

    assert len(told) < 300
    assert sum(kind.count for kind in told) == 1000


def test_the_clock_of_the_run_begins_with_the_first_tuple_and_ends_with_the_run() -> None:
    stage = Stage(workers=1)
    (there,) = stage.starts()
    stage.passes(10, there)
    assert stage.status().run_s == 0
    stage.says(there, Ready(assignment=1))
    stage.passes(3, there)
    assert stage.status().run_s == pytest.approx(3)
    stage.says(there, Ended(assignment=1))
    stage.says(there, Left())
    stage.passes(50)

    assert stage.status().run_s == pytest.approx(3)
    assert stage.finished().summary.metrics.run_s == pytest.approx(3)


# ---- tasks that move


def test_what_a_task_did_before_it_moved_away_stays_done_and_no_rate_is_negative() -> None:
    stage = Stage(workers=2)
    first, second = stage.runs()
    pair = PairCounts(edge=1, source=2, target=3, tuples=40, bytes=400)

    stage.says(first, report(1, TaskCounts(task=0), TaskCounts(task=2, processed=100, emitted=40), pairs=(pair,)))
    stage.says(first, report(2, TaskCounts(task=0, emitted=5)))
    stage.says(second, report(2, TaskCounts(task=2, processed=1)))
    stage.says(second, report(3, TaskCounts(task=2, processed=11)))

    split = component(stage, "split")
    assert split.processed == 111
    assert split.processed_per_s == pytest.approx(10)
    assert component(stage, "lines").emitted_per_s == 0
    assert [(edge.edge, edge.tuples, edge.tuples_per_s) for edge in metrics(stage).edges] == [(0, 0, 0), (1, 40, 0)]


def test_traffic_is_told_by_how_far_it_goes() -> None:
    stage = Stage(workers=3)
    stage.happens(Launch())
    first, *others = [stage.comes(worker, node=node) for worker, node in enumerate(["a", "a", "b"])]
    for connection in (first, *others):
        stage.says(connection, Ready(assignment=1))
    place = {task: worker.worker for worker in stage.status().workers for task in worker.tasks}
    assert place == {0: 0, 1: 2, 2: 1, 3: 0}

    def sent(at_s: float, count: int) -> Report:
        ways = [(0, 0, 1), (0, 0, 2), (1, 0, 3)]
        pairs = [
            PairCounts(edge=edge, source=source, target=target, tuples=count * (number + 1), bytes=10 * count)
            for number, (edge, source, target) in enumerate(ways)
        ]
        return report(at_s, TaskCounts(task=0), pairs=tuple(pairs))

    stage.says(first, sent(1, 0))
    stage.says(first, sent(2, 100))
    traffic = metrics(stage).traffic
    assert traffic.between_nodes_tuples_per_s == pytest.approx(100)
    assert traffic.between_workers_tuples_per_s == pytest.approx(200)
    assert traffic.within_workers_tuples_per_s == pytest.approx(300)
    assert traffic.between_nodes_bytes_per_s == pytest.approx(1000)
    assert traffic.between_workers_bytes_per_s == pytest.approx(1000)
