"""How `bench scale` judges, and what it reads of processes."""

from pathlib import Path

import msgspec
import pytest

from bench.report import Goal
from bench.scale.goals import scale_goals
from bench.scale.notes import Note, ProcessNote, Taken, resident_mb, taken
from bench.scale.sizes import Size, SizeRow
from bench.scale.soak import SoakSlice
from bench.scale.state import StateFigures
from bench.scale.tables import soak_table
from bench.stats import Spread

STATE = StateFigures(
    keys=10,
    fill_s=1,
    resident_mb=100,
    checkpoint_mb=1,
    longest_pause_while_saved_s=0.1,
    move_s=1,
    longest_pause_while_moved_s=6.0,
    restore_s=2,
    restore_of_nothing_s=1,
)


def rows(*costs: float) -> list[SizeRow]:
    memory = Spread.over([100.0])
    return [
        SizeRow(
            size=Size(tasks=2 << index, workers=2),
            local_share=0.5,
            cpu_us_per_tuple=Spread.over([cost]),
            resident_mb_per_worker=memory,
        )
        for index, cost in enumerate(costs)
    ]


def slices(*cpu_us: float) -> list[SoakSlice]:
    return [
        SoakSlice(tuples=10, p50_us=100, p99_us=1000, cpu_us_per_tuple=cpu, resident_mb=50 + index)
        for index, cpu in enumerate(cpu_us)
    ]


def judged(**changed: object) -> dict[str, Goal]:
    given = {"by_tasks": rows(1), "by_workers": rows(1), "state": STATE, "slices": slices(1)} | changed
    return {goal.name: goal for goal in scale_goals(**given)}  # type: ignore[arg-type]


def test_costs_are_held_against_the_smallest_size_and_the_worst_counts() -> None:
    goals = judged(by_tasks=rows(2, 2.6, 2.2), by_workers=rows(2, 2.4, 1.9))
    tasks, workers = (goals[f"dearest_tuple_over_that_of_fewest_{what}"] for what in ("tasks", "workers"))
    assert [tasks.value, workers.value] == pytest.approx([1.3, 1.2])
    assert [tasks.holds, workers.holds] == [False, True]


def test_pauses_of_the_state_are_judged() -> None:
    goals = judged()
    assert goals["pause_s_while_saved"].holds
    assert not goals["pause_s_while_moved"].holds


def test_drift_is_of_the_second_half_over_the_first_without_the_first_slice() -> None:
    goals = judged(slices=slices(900, 10, 10, 12, 12, 12, 12))
    assert goals["drift_of_cpu"].value == pytest.approx(1.2)
    assert not goals["drift_of_cpu"].holds
    assert goals["drift_of_p50"].value == 1
    assert goals["drift_of_memory"].holds


def test_a_soak_of_a_few_slices_has_no_drift_to_tell_of() -> None:
    assert judged(slices=slices(1, 1, 1))["drift_of_cpu"].value is None


def test_what_a_process_takes_is_counted_once_for_all_its_tasks(tmp_path: Path) -> None:
    notes = {
        "a": Note(pid=1, opened_cpu_ns=1_000_000_000, finished_cpu_ns=4_000_000_000, resident_mb=100, tuples=0),
        "b": Note(pid=1, opened_cpu_ns=2_000_000_000, finished_cpu_ns=5_000_000_000, resident_mb=120, tuples=30),
        "c": Note(pid=2, opened_cpu_ns=0, finished_cpu_ns=500_000_000, resident_mb=80, tuples=10),
    }
    for name, note in notes.items():
        (tmp_path / f"{name}.process").write_bytes(msgspec.json.encode(note))
    assert taken(str(tmp_path)) == Taken(cpu_s=4.5, resident_mb_per_worker=100, local_share=0.75)


def test_a_task_leaves_what_its_process_has_taken(tmp_path: Path) -> None:
    note = ProcessNote(str(tmp_path), "task")
    sum(number * number for number in range(200_000))
    note.leave()
    assert taken(str(tmp_path)).cpu_s > 0
    assert taken(str(tmp_path)).resident_mb_per_worker > 5
    assert resident_mb(2**22 + 1) == 0, "there is no such process"


def test_of_many_slices_some_are_shown_the_first_and_the_last_among_them() -> None:
    shown = soak_table(slices(*range(1, 61)), 60.0, 1000).rows
    assert len(shown) == 12
    assert (shown[0][0], shown[-1][0]) == ("60", "3,600")
    assert soak_table([], 60.0, 1000).rows == ()
