"""Overload, as measured, and whether more workers would help."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.control.load_records import WorkerRecord
from penstock.control.overload import overload, workers_wanted


def worker(number: int, share: float, *, node: str = "a", cores: int = 8, speed: float = 1.0) -> WorkerRecord:
    return WorkerRecord(worker=number, node=node, host=f"host-{node}", speed=speed, cores=cores, cpu_share=share)


@pytest.mark.parametrize(
    ("workers", "told", "wanted"),
    [
        ([], None, 0),
        ([worker(0, 0.9), worker(1, 0.1)], None, 0),
        ([worker(0, 0.95), worker(1, 0.1)], "worker 0 on host-a takes 95% of a core", 0),
        ([worker(0, 0.95)], "worker 0 on host-a takes 95% of a core", 1),
        ([worker(0, 1.0), worker(1, 1.0)], "worker 0 on host-a takes 100% of a core", 1),
        ([worker(number, 1.0) for number in range(20)], "worker 0 on host-a takes 100% of a core", 3),
        ([worker(0, 1.5, speed=2.0)], None, 0),
        ([worker(0, 0.5, cores=1), worker(1, 0.5, cores=1)], "node host-a takes 1.0 of its 1 cores", 1),
        (
            [worker(0, 0.5, cores=1), worker(1, 0.5, cores=1), worker(2, 0.1, node="b", cores=1)],
            "node host-a takes 1.0 of its 1 cores",
            0,
        ),
    ],
)
def test_who_has_too_much_to_do_and_whether_others_would_help(
    workers: list[WorkerRecord], told: str | None, wanted: int
) -> None:
    assert overload(workers, capacity_fraction=0.9) == told
    assert workers_wanted(workers, capacity_fraction=0.9) == wanted


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20), st.floats(0.1, 1.0))
def test_with_so_many_more_there_is_room_for_all_and_with_one_less_there_is_not(
    shares: list[float], fraction: float
) -> None:
    workers = [worker(number, share, cores=100) for number, share in enumerate(shares)]
    wanted = workers_wanted(workers, capacity_fraction=fraction)
    taken = sum(shares)
    assert taken <= fraction * (len(workers) + wanted) + 1e-9 or overload(workers, capacity_fraction=fraction) is None
    if wanted:
        assert taken > fraction * (len(workers) + wanted - 1) - 1e-9
