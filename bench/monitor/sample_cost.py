"""What a sample costs the driver in CPU time, by itself: more exact than any difference of throughputs."""

import statistics
import time
from pathlib import Path

from bench.monitor.topology import WORKERS, flooded
from penstock.control.load_monitor import LoadMonitor
from penstock.control.load_records import Choice
from penstock.control.load_store import LoadStore
from penstock.control.metrics import PairCounts, TaskCounts
from penstock.control.protocol import Report
from penstock.plan.assignment import Assignment
from penstock.plan.edges import edges_of
from penstock.plan.shape import shape_of
from penstock.plan.tasks import tasks_of

_TIMES = 50


def sample_cost_s(folder: Path) -> float:
    """The median CPU time of a sample of what this benchmark runs, taken and entered into a file."""
    shape = shape_of(flooded(str(folder)))
    tasks, edges = tasks_of(shape), edges_of(shape)
    of = {name: [task.id for task in tasks if task.component == name] for name in ("source", "forward", "notes")}
    pairs = [(edge.id, source, target) for edge in edges for source in of[edge.source] for target in of[edge.target]]
    assignment = Assignment(number=1, worker_of={task.id: task.id % WORKERS for task in tasks})
    monitor = LoadMonitor(edges)
    monitor.sample_if_due(0.0, every_s=1.0, alpha=0.5, worker_of=assignment.worker_of)
    path = folder / "sample-cost.db"
    path.unlink(missing_ok=True)
    taken_s = []
    with LoadStore.open(f"sqlite://{path.absolute()}") as store:
        store.put_run("run", topology="monitor", edges=edges, choice=Choice(), now_s=0.0)
        for number in range(1, _TIMES + 1):
            began_s = time.thread_time()
            for worker in range(WORKERS):
                monitor.report(worker, 1, _report(number, assignment.tasks_on(worker), pairs))
            sample = monitor.sample_if_due(float(number), every_s=1.0, alpha=0.5, worker_of=assignment.worker_of)
            assert sample is not None
            store.put_sample(
                "run",
                sample=sample,
                estimate=monitor.estimate,
                tasks=tasks,
                pinned={},
                workers=(),
                assignment=assignment,
                history_s=3600.0,
                now_s=float(number),
            )
            taken_s.append(time.thread_time() - began_s)
    path.unlink()
    return statistics.median(taken_s)


def _report(number: int, tasks: tuple[int, ...], pairs: list[tuple[int, int, int]]) -> Report:
    return Report(
        at_ns=number * 10**9,
        cpu_ns=number * 9 * 10**8,
        tasks=tuple(TaskCounts(task=task, busy_ns=number * 10**8) for task in tasks),
        pairs=tuple(
            PairCounts(edge=edge, source=source, target=target, tuples=1000 * number, bytes=100_000 * number)
            for edge, source, target in pairs
            if source in tasks
        ),
    )
