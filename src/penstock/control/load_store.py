"""The load store: where load, placement and schedules are kept, for those who plan and those who look.

    with LoadStore.open("sqlite:///home/me/.cache/penstock/runs/1f2e.load") as store:
        situation = store.situation(run)

The driver of a run writes what is so, whoever plans writes schedules, and the driver fetches them: they need not know
of each other. For one thread; others open it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from penstock.control import load_rows as rows
from penstock.control.database import Database, open_database
from penstock.control.load_records import (
    Choice,
    HistoryPoint,
    RunRecord,
    ScheduleRecord,
    ScheduleStatus,
    Situation,
    WorkerRecord,
)
from penstock.control.load_sample import LoadSample, PairRate, TaskShare
from penstock.control.load_schema import TABLES, TABLES_OF_A_RUN, VERSION
from penstock.errors import LoadStoreError
from penstock.plan.assignment import Assignment
from penstock.plan.edges import Edge
from penstock.plan.tasks import Task

__all__ = ["LoadStore"]

# So many rows of history are kept of a run, whatever their age: about 100 MB.
_MOST_ROWS = 1_000_000
# Runs that nobody has heard of for so long are forgotten.
_FORGOTTEN_AFTER_S = 30 * 86_400.0


class LoadStore:
    """All runs that share a database. What fails raises LoadStoreError; after that the store has to be opened again."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.place = database.place
        """Where it is, for people."""

    @classmethod
    def open(cls, url: str, *, create: bool = True) -> LoadStore:
        """The store at `sqlite:///absolute/path` or `postgresql://…`. Without `create` it must be there already."""
        database = open_database(url, create=create)
        try:
            store = cls(database)
            if create:
                store._prepare()
            store._check_version()
        except BaseException:
            database.close()
            raise
        return store

    def close(self) -> None:
        """Closes the connection."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _prepare(self) -> None:
        with self._database.making():
            for table in TABLES:
                self._database.execute(table)
            if not self._database.execute("SELECT version FROM load_store"):
                self._database.execute("INSERT INTO load_store VALUES (?)", (VERSION,))

    def _check_version(self) -> None:
        ((version,),) = self._database.execute("SELECT MAX(version) FROM load_store")
        if version != VERSION:
            message = f"the load store at {self.place} has version {version}, and this Penstock wants {VERSION}"
            raise LoadStoreError(message)

    # ---- the driver writes

    def put_run(self, run: str, *, topology: str, edges: Iterable[Edge], choice: Choice, now_s: float) -> None:
        """Enters a run, with what it is to be planned by. Runs that are long forgotten are removed."""
        forgotten = "SELECT run FROM runs WHERE heard_at_s < ? OR run = ?"
        with self._database.writing():
            for (old,) in self._database.execute(forgotten, (now_s - _FORGOTTEN_AFTER_S, run)):
                for table in TABLES_OF_A_RUN:
                    self._database.execute(f"DELETE FROM {table} WHERE run = ?", (old,))
            self._insert("runs", [(run, topology, choice.settings.scheduling, now_s, now_s, None)])
            self._insert("edges", [(run, *rows.edge_row(edge)) for edge in edges])
            self._insert("settings", [(run, now_s, rows.choice_text(choice))])

    def put_sample(
        self,
        run: str,
        *,
        sample: LoadSample,
        estimate: LoadSample,
        tasks: Iterable[Task],
        pinned: Mapping[int, str],
        workers: Iterable[WorkerRecord],
        assignment: Assignment,
        history_s: float,
        now_s: float,
    ) -> None:
        """Enters what was measured, what is estimated now, and who is where; history that is too old is removed."""
        with self._database.writing():
            self._database.execute("UPDATE runs SET heard_at_s = ? WHERE run = ?", (now_s, run))
            number = self.newest_sample(run) + 1
            self._insert("samples", [(run, number, now_s, assignment.number)])
            self._insert("task_samples", [(run, number, task, one.cpu, one.busy) for task, one in sample.tasks.items()])
            self._insert(
                "pair_samples", [(run, number, *pair, one.tuples, one.bytes) for pair, one in sample.pairs.items()]
            )
            self._replace("task_load", run, [(task, one.cpu, one.busy) for task, one in estimate.tasks.items()])
            self._replace("pair_load", run, [(*pair, one.tuples, one.bytes) for pair, one in estimate.pairs.items()])
            self._replace("tasks", run, [rows.task_row(task, pinned.get(task.id)) for task in tasks])
            self._replace("workers", run, [rows.worker_row(worker) for worker in workers])
            self._database.execute(
                "INSERT INTO assignments VALUES (?, ?, ?, ?) ON CONFLICT (run, number) DO NOTHING",
                (run, assignment.number, now_s, rows.encoded(assignment.worker_of)),
            )
            self._prune(run, number, rows=1 + len(sample.tasks) + len(sample.pairs), before_s=now_s - history_s)

    def _prune(self, run: str, newest: int, *, rows: int, before_s: float) -> None:
        ((aged,),) = self._database.execute(
            "SELECT COALESCE(MAX(sample), 0) FROM samples WHERE run = ? AND at_s < ?", (run, before_s)
        )
        last = max(aged, newest - max(1, _MOST_ROWS // rows))
        for table in ("samples", "task_samples", "pair_samples"):
            self._database.execute(f"DELETE FROM {table} WHERE run = ? AND sample <= ?", (run, last))

    def put_choice(self, run: str, choice: Choice, *, now_s: float) -> None:
        """Says which scheduler is to be used from now on, and how."""
        with self._database.writing():
            self._database.execute(
                "UPDATE settings SET at_s = ?, choice = ? WHERE run = ?", (now_s, rows.choice_text(choice), run)
            )

    def end_run(self, run: str, *, now_s: float) -> None:
        """Enters that a run is over. Its history stays."""
        with self._database.writing():
            self._database.execute("UPDATE runs SET heard_at_s = ?, ended_at_s = ? WHERE run = ?", (now_s, now_s, run))

    # ---- who plans writes, and the driver decides

    def propose(self, run: str, schedule: ScheduleRecord) -> int:
        """Enters a schedule, and returns its number. One that was proposed before and not decided is superseded."""
        with self._database.writing():
            # Who proposes at the same time waits here, for the row: so the number is ours.
            self._database.execute("UPDATE runs SET heard_at_s = heard_at_s WHERE run = ?", (run,))
            ((newest,),) = self._database.execute(
                "SELECT COALESCE(MAX(number), 0) FROM schedules WHERE run = ?", (run,)
            )
            number = int(newest) + 1
            if schedule.status == "proposed":
                self._database.execute(
                    "UPDATE schedules SET status = 'superseded', reason = ?, decided_at_s = ? "
                    "WHERE run = ? AND status = 'proposed'",
                    (f"schedule {number} was made since", schedule.at_s, run),
                )
            self._insert("schedules", [(run, *rows.schedule_row(number, schedule))])
            return number

    def decide(self, run: str, number: int, *, status: ScheduleStatus, reason: str, now_s: float) -> None:
        """Enters what became of a schedule."""
        with self._database.writing():
            self._database.execute(
                "UPDATE schedules SET status = ?, reason = ?, decided_at_s = ? WHERE run = ? AND number = ?",
                (status, reason, now_s, run, number),
            )

    def schedules(self, run: str, *, after: int = 0, most: int = 100) -> list[ScheduleRecord]:
        """The newest schedules with numbers above `after`, oldest first."""
        found = self._database.execute(
            f"SELECT {rows.SCHEDULE_COLUMNS} FROM schedules WHERE run = ? AND number > ? ORDER BY number DESC LIMIT ?",
            (run, after, most),
        )
        return [rows.schedule_of(row) for row in reversed(found)]

    # ---- reading

    def runs(self) -> list[RunRecord]:
        """All runs, oldest first."""
        found = self._database.execute(f"SELECT {rows.RUN_COLUMNS} FROM runs ORDER BY started_at_s, run")
        return [rows.run_of(row) for row in found]

    def choice(self, run: str) -> Choice:
        """Which scheduler is to be used, and how."""
        ((text,),) = self._of("settings", "choice", run, order="run") or [(None,)]
        if text is None:
            message = f"the load store at {self.place} has no run {run!r}"
            raise LoadStoreError(message)
        return rows.decoded(text, Choice)

    def newest_sample(self, run: str) -> int:
        """The number of the newest sample; 0 if there is none yet."""
        ((newest,),) = self._database.execute("SELECT COALESCE(MAX(sample), 0) FROM samples WHERE run = ?", (run,))
        return int(newest)

    def situation(self, run: str) -> Situation:
        """How a run stands."""
        with self._database.reading():
            choice = self.choice(run)  # raises if there is no such run
            tasks = self._of("tasks", rows.TASK_COLUMNS, run, order="task")
            workers = [rows.worker_of(row) for row in self._of("workers", rows.WORKER_COLUMNS, run, order="worker")]
            assignments = self._of("assignments", "number, worker_of", run, order="number")
            return Situation(
                run=rows.run_of(self._of("runs", rows.RUN_COLUMNS, run, order="run")[0]),
                sample=self.newest_sample(run),
                tasks=tuple(rows.task_of(row) for row in tasks),
                edges=tuple(rows.edge_of(row) for row in self._of("edges", rows.EDGE_COLUMNS, run, order="edge")),
                pinned={row[0]: row[4] for row in tasks if row[4] is not None},
                workers=tuple(workers),
                assignment=_assignment_of(assignments[-1]) if assignments else None,
                estimate=LoadSample(
                    tasks={
                        task: TaskShare(cpu=cpu, busy=busy)
                        for task, cpu, busy in self._of("task_load", "task, cpu_share, busy_share", run, order="task")
                    },
                    pairs={
                        (edge, source, target): PairRate(tuples=tuples, bytes=size)
                        for edge, source, target, tuples, size in self._of(
                            "pair_load", "edge, source, target, tuples_per_s, bytes_per_s", run, order="edge"
                        )
                    },
                    workers={worker.worker: worker.cpu_share for worker in workers},
                ),
                choice=choice,
            )

    def history(self, run: str, *, most: int = 1000) -> list[HistoryPoint]:
        """The newest samples, oldest first."""
        with self._database.reading():
            newest = self._of("samples", "sample, at_s, assignment", run, order="sample")[-most:]
            points = {
                sample: HistoryPoint(at_s=at_s, assignment=assignment, sample=LoadSample())
                for sample, at_s, assignment in newest
            }
            oldest = min(points, default=0)
            of_run = "WHERE run = ? AND sample >= ?"
            for sample, task, cpu, busy in self._database.execute(
                f"SELECT sample, task, cpu_share, busy_share FROM task_samples {of_run}", (run, oldest)
            ):
                points[sample].sample.tasks[task] = TaskShare(cpu=cpu, busy=busy)
            for sample, edge, source, target, tuples, size in self._database.execute(
                f"SELECT sample, edge, source, target, tuples_per_s, bytes_per_s FROM pair_samples {of_run}",
                (run, oldest),
            ):
                points[sample].sample.pairs[edge, source, target] = PairRate(tuples=tuples, bytes=size)
        return list(points.values())

    def assignments(self, run: str) -> dict[int, Assignment]:
        """Those that were in force when load was sampled, by number."""
        found = [_assignment_of(row) for row in self._of("assignments", "number, worker_of", run, order="number")]
        return {assignment.number: assignment for assignment in found}

    # ---- means

    def _of(self, table: str, columns: str, run: str, *, order: str) -> list[tuple[Any, ...]]:
        return self._database.execute(f"SELECT {columns} FROM {table} WHERE run = ? ORDER BY {order}", (run,))

    def _replace(self, table: str, run: str, values: Iterable[Sequence[Any]]) -> None:
        self._database.execute(f"DELETE FROM {table} WHERE run = ?", (run,))
        self._insert(table, [(run, *row) for row in values])

    def _insert(self, table: str, values: Sequence[Sequence[Any]]) -> None:
        if values:
            marks = ", ".join("?" * len(values[0]))
            self._database.execute_many(f"INSERT INTO {table} VALUES ({marks})", values)


def _assignment_of(row: Sequence[Any]) -> Assignment:
    number, places = row
    return Assignment(number=number, worker_of=rows.decoded(places, dict[int, int]))
