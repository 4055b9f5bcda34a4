"""The tables of the load store, in the SQL that SQLite and PostgreSQL share.

runs                                    who runs, since when, and whether it is over
tasks, edges                            what runs
workers                                 where it can run: worker -> node, host, speed; and how busy that is
samples, task_samples, pair_samples     history: what was measured, pruned by age and number
task_load, pair_load                    now: smoothed estimates
assignments                             which were in force, and since when
schedules                               what was proposed, why, and what became of it
settings                                which scheduler is to be used, and how: replaced while a run goes on
"""

from __future__ import annotations

__all__ = ["TABLES", "TABLES_OF_A_RUN", "VERSION"]

VERSION = 1

TABLES = (
    "CREATE TABLE IF NOT EXISTS load_store (version BIGINT NOT NULL)",
    """CREATE TABLE IF NOT EXISTS runs (
        run TEXT PRIMARY KEY, topology TEXT NOT NULL, scheduling TEXT NOT NULL, started_at_s DOUBLE PRECISION NOT NULL,
        heard_at_s DOUBLE PRECISION NOT NULL, ended_at_s DOUBLE PRECISION)""",
    """CREATE TABLE IF NOT EXISTS tasks (
        run TEXT NOT NULL, task BIGINT NOT NULL, component TEXT NOT NULL, position BIGINT NOT NULL, kind TEXT NOT NULL,
        pinned TEXT, PRIMARY KEY (run, task))""",
    """CREATE TABLE IF NOT EXISTS edges (
        run TEXT NOT NULL, edge BIGINT NOT NULL, source TEXT NOT NULL, stream TEXT NOT NULL, target TEXT NOT NULL,
        input BIGINT NOT NULL, grouping_name TEXT NOT NULL, PRIMARY KEY (run, edge))""",
    """CREATE TABLE IF NOT EXISTS workers (
        run TEXT NOT NULL, worker BIGINT NOT NULL, node TEXT NOT NULL, host TEXT NOT NULL,
        speed DOUBLE PRECISION NOT NULL, cores BIGINT NOT NULL, cpu_share DOUBLE PRECISION NOT NULL,
        PRIMARY KEY (run, worker))""",
    """CREATE TABLE IF NOT EXISTS samples (
        run TEXT NOT NULL, sample BIGINT NOT NULL, at_s DOUBLE PRECISION NOT NULL, assignment BIGINT NOT NULL,
        PRIMARY KEY (run, sample))""",
    """CREATE TABLE IF NOT EXISTS task_samples (
        run TEXT NOT NULL, sample BIGINT NOT NULL, task BIGINT NOT NULL, cpu_share DOUBLE PRECISION NOT NULL,
        busy_share DOUBLE PRECISION NOT NULL, PRIMARY KEY (run, sample, task))""",
    """CREATE TABLE IF NOT EXISTS pair_samples (
        run TEXT NOT NULL, sample BIGINT NOT NULL, edge BIGINT NOT NULL, source BIGINT NOT NULL, target BIGINT NOT NULL,
        tuples_per_s DOUBLE PRECISION NOT NULL, bytes_per_s DOUBLE PRECISION NOT NULL,
        PRIMARY KEY (run, sample, edge, source, target))""",
    """CREATE TABLE IF NOT EXISTS task_load (
        run TEXT NOT NULL, task BIGINT NOT NULL, cpu_share DOUBLE PRECISION NOT NULL,
        busy_share DOUBLE PRECISION NOT NULL, PRIMARY KEY (run, task))""",
    """CREATE TABLE IF NOT EXISTS pair_load (
        run TEXT NOT NULL, edge BIGINT NOT NULL, source BIGINT NOT NULL, target BIGINT NOT NULL,
        tuples_per_s DOUBLE PRECISION NOT NULL, bytes_per_s DOUBLE PRECISION NOT NULL,
        PRIMARY KEY (run, edge, source, target))""",
    """CREATE TABLE IF NOT EXISTS assignments (
        run TEXT NOT NULL, number BIGINT NOT NULL, at_s DOUBLE PRECISION NOT NULL, worker_of TEXT NOT NULL,
        PRIMARY KEY (run, number))""",
    """CREATE TABLE IF NOT EXISTS schedules (
        run TEXT NOT NULL, number BIGINT NOT NULL, at_s DOUBLE PRECISION NOT NULL, assignment BIGINT NOT NULL,
        scheduler TEXT NOT NULL, parameters TEXT NOT NULL, worker_of TEXT NOT NULL, predicted_before TEXT NOT NULL,
        predicted_after TEXT NOT NULL, words TEXT NOT NULL, status TEXT NOT NULL, reason TEXT NOT NULL,
        decided_at_s DOUBLE PRECISION, PRIMARY KEY (run, number))""",
    """CREATE TABLE IF NOT EXISTS settings (
        run TEXT PRIMARY KEY, at_s DOUBLE PRECISION NOT NULL, choice TEXT NOT NULL)""",
)

TABLES_OF_A_RUN = (
    "tasks",
    "edges",
    "workers",
    "samples",
    "task_samples",
    "pair_samples",
    "task_load",
    "pair_load",
    "assignments",
    "schedules",
    "settings",
    "runs",
)
