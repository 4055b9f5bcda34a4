"""Between the rows of the load store's tables and the records that they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from penstock.control.load_records import Choice, RunRecord, ScheduleRecord, WorkerRecord
from penstock.errors import LoadStoreError
from penstock.plan.edges import Edge
from penstock.plan.predicted import Predicted
from penstock.plan.tasks import Task

__all__ = [
    "EDGE_COLUMNS",
    "RUN_COLUMNS",
    "SCHEDULE_COLUMNS",
    "TASK_COLUMNS",
    "WORKER_COLUMNS",
    "choice_text",
    "decoded",
    "edge_of",
    "edge_row",
    "encoded",
    "run_of",
    "schedule_of",
    "schedule_row",
    "task_of",
    "task_row",
    "worker_of",
    "worker_row",
]

RUN_COLUMNS = "run, topology, scheduling, started_at_s, heard_at_s, ended_at_s"
TASK_COLUMNS = "task, component, position, kind, pinned"
EDGE_COLUMNS = "edge, source, stream, target, input, grouping_name"
WORKER_COLUMNS = "worker, node, host, speed, cores, cpu_share"
SCHEDULE_COLUMNS = (
    "number, at_s, assignment, scheduler, parameters, worker_of, predicted_before, predicted_after, words, status, "
    "reason, decided_at_s"
)

Row = Sequence[Any]
_Kind = TypeVar("_Kind")


def encoded(value: object) -> str:
    """A value that has no columns of its own."""
    return msgspec.json.encode(value).decode()


def decoded(text: str, kind: type[_Kind]) -> _Kind:
    """The value back again; LoadStoreError if somebody else wrote something else."""
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.DecodeError as error:
        message = f"the load store holds what cannot be read: wanted {kind}, got {text[:200]!r}: {error}"
        raise LoadStoreError(message) from error


def _prediction(text: str) -> Predicted | None:
    return None if text == "null" else decoded(text, Predicted)


def choice_text(choice: Choice) -> str:
    """A choice without where the store is, because that may have a password in it."""
    return encoded(msgspec.structs.replace(choice, settings=msgspec.structs.replace(choice.settings, store=None)))


def run_of(row: Row) -> RunRecord:
    """A row with RUN_COLUMNS."""
    run, topology, scheduling, started_at_s, heard_at_s, ended_at_s = row
    return RunRecord(
        run=run,
        topology=topology,
        scheduling=scheduling,
        started_at_s=started_at_s,
        heard_at_s=heard_at_s,
        ended_at_s=ended_at_s,
    )


def task_row(task: Task, pinned: str | None) -> Row:
    """A row with TASK_COLUMNS."""
    return task.id, task.component, task.index, task.kind, pinned


def task_of(row: Row) -> Task:
    """A row with TASK_COLUMNS."""
    task, component, position, kind, _ = row
    return Task(id=task, component=component, index=position, kind=kind)


def edge_row(edge: Edge) -> Row:
    """A row with EDGE_COLUMNS."""
    return edge.id, edge.source, edge.stream, edge.target, edge.input, edge.grouping


def edge_of(row: Row) -> Edge:
    """A row with EDGE_COLUMNS."""
    edge, source, stream, target, position, grouping = row
    return Edge(id=edge, source=source, stream=stream, target=target, input=position, grouping=grouping)


def worker_row(worker: WorkerRecord) -> Row:
    """A row with WORKER_COLUMNS."""
    return worker.worker, worker.node, worker.host, worker.speed, worker.cores, worker.cpu_share


def worker_of(row: Row) -> WorkerRecord:
    """A row with WORKER_COLUMNS."""
    worker, node, host, speed, cores, cpu_share = row
    return WorkerRecord(worker=worker, node=node, host=host, speed=speed, cores=cores, cpu_share=cpu_share)


def schedule_row(number: int, schedule: ScheduleRecord) -> Row:
    """A row with SCHEDULE_COLUMNS."""
    return (
        number,
        schedule.at_s,
        schedule.assignment,
        schedule.scheduler,
        encoded(schedule.parameters),
        encoded(schedule.worker_of),
        encoded(schedule.before),
        encoded(schedule.after),
        schedule.words,
        schedule.status,
        schedule.reason,
        schedule.decided_at_s,
    )


def schedule_of(row: Row) -> ScheduleRecord:
    """A row with SCHEDULE_COLUMNS."""
    number, at_s, assignment, scheduler, parameters, places, before, after, words, status, reason, decided_at_s = row
    return ScheduleRecord(
        number=number,
        at_s=at_s,
        assignment=assignment,
        scheduler=scheduler,
        parameters=decoded(parameters, dict[str, Any]),
        worker_of=decoded(places, dict[int, int]),
        before=_prediction(before),
        after=_prediction(after),
        words=words,
        status=status,
        reason=reason,
        decided_at_s=decided_at_s,
    )
