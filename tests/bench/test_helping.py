"""The helping benchmark: its chain, what can be gained at most, and how it judges."""

from pathlib import Path

import msgspec
import pytest

from bench.helping.account import Account, Ledger
from bench.helping.contest import _sample
from bench.helping.dial import Dial, ServiceTime
from bench.helping.goals import goals
from bench.helping.measured import Cell, Measured, Moment, Sample
from bench.helping.placement import WorkerPerTask
from bench.helping.plan import CALM, EQUAL, FULL, HELPING, PLAIN, QUICK, SHIFTING, TABLE_1, Phase
from bench.helping.pressure import Pressure
from bench.helping.tables import tables
from bench.helping.topology import leron_chain
from bench.scheduling.tap import Tap
from bench.scheduling.window import Times
from penstock._native import Histogram
from penstock.control.metrics import ComponentMetrics, RunMetrics
from penstock.errors import RunError
from penstock.plan.cluster import WorkerSlot
from penstock.plan.edges import edges_of
from penstock.plan.schedulers.base import PlanRequest
from penstock.plan.shape import shape_of
from penstock.plan.tasks import tasks_of
from penstock.testing import run_topology

NOTHING = Pressure(helped_s=0.0, stopping_s=0.0, episodes=0, ratio={})
EXACT = Ledger(emitted=100, lost=0, doubled=0, wrong=0)


def sample(per_s: float, *, p50_ms: float = 10.0, stopping_s: float = 0.0, ledger: Ledger = EXACT) -> Sample:
    settled = Pressure(helped_s=1.0, stopping_s=stopping_s, episodes=3, ratio={"compute → exclam1": 0.33})
    return Sample(
        per_s=per_s,
        times=Times(tuples=100, mean_ms=p50_ms, p50_ms=p50_ms, p99_ms=3 * p50_ms),
        window_s=10.0,
        settling=NOTHING,
        settled=settled,
        longest_queue=1234,
        ledger=ledger,
        moments=[Moment(at_s=1.0, per_s=per_s, queues={"exclam1": 7}, pressure=settled)],
    )


def cell(name: str, plain: list[Sample], helping: list[Sample]) -> Cell:
    return Cell(name=name, most=1.5, note="", rounds={PLAIN.name: plain, HELPING.name: helping})


# ---- the chain


def test_every_word_comes_to_the_end_once_and_worked_on_by_each_bolt(tmp_path: Path) -> None:
    tap, dial, account = Tap(str(tmp_path)), Dial(str(tmp_path)), tmp_path / "account"
    tap.turn(1e6)
    topology = leron_chain(tap_file=tap.file, dial_file=dial.file, account_file=str(account), limit=500)
    result = run_topology(topology, workers=3)
    assert result.failures == []
    found = msgspec.msgpack.decode(account.read_bytes(), type=Account)
    assert found == Account(highest=499, seen=500, again=0, wrong=0)
    assert Ledger.of(found, emitted=500).is_exact


@pytest.mark.parametrize(
    ("account", "ledger"),
    [
        (Account(highest=9, seen=9, again=0, wrong=0), Ledger(emitted=10, lost=1, doubled=0, wrong=0)),
        (Account(highest=8, seen=9, again=0, wrong=0), Ledger(emitted=10, lost=1, doubled=0, wrong=0)),
        (Account(highest=9, seen=10, again=2, wrong=0), Ledger(emitted=10, lost=0, doubled=2, wrong=0)),
        (Account(highest=9, seen=10, again=0, wrong=3), Ledger(emitted=10, lost=0, doubled=0, wrong=3)),
        (Account(highest=-1, seen=0, again=0, wrong=0), Ledger(emitted=10, lost=10, doubled=0, wrong=0)),
    ],
)
def test_what_is_lost_doubled_or_wrong_is_told(account: Account, ledger: Ledger) -> None:
    assert Ledger.of(account, emitted=10) == ledger
    assert not ledger.is_exact


def test_service_times_can_be_changed_while_bolts_run(tmp_path: Path) -> None:
    dial = Dial(str(tmp_path))
    dial.turn(Phase(compute_ms=4.0, exclam1_ms=2.5).by_name())
    assert [ServiceTime(dial.file, name).now_ns() for name in ("compute", "exclam1", "exclam2")] == [
        4_000_000,
        2_500_000,
        0,
    ]


def test_each_task_has_a_worker_of_its_own_but_for_the_sink(tmp_path: Path) -> None:
    tap, dial = Tap(str(tmp_path)), Dial(str(tmp_path))
    shape = shape_of(leron_chain(tap_file=tap.file, dial_file=dial.file, account_file="none", computes=EQUAL.computes))
    tasks = tasks_of(shape)

    def planned(workers: int) -> dict[str, int]:
        slots = tuple(WorkerSlot(worker=worker, node="here") for worker in range(workers))
        request = PlanRequest(tasks=tasks, edges=edges_of(shape), slots=slots)
        worker_of = WorkerPerTask().plan(request).worker_of
        return {task.label: worker_of[task.id] for task in tasks}

    places = planned(EQUAL.workers)
    assert places.pop("check[0]") == places["exclam2[0]"]
    assert sorted(places.values()) == [*range(EQUAL.workers)]
    with pytest.raises(ValueError, match="5 tasks want a worker each, got 4 workers"):
        planned(EQUAL.workers - 1)


# ---- what can be gained


def test_with_equal_capacities_one_and_a_half_times_as_much_can_pass() -> None:
    """Section 3 with M = 2 and N = 1."""
    phase = EQUAL.phases[0]
    assert phase.plain_per_s(2) == pytest.approx(250.0)
    assert phase.helped_per_s(2) == pytest.approx(375.0)
    assert EQUAL.most == pytest.approx(0.97 * 1.5)


def test_who_is_not_slower_is_not_helped() -> None:
    assert Phase(compute_ms=8.0, exclam1_ms=1.0).helped_per_s(2) == pytest.approx(250.0)
    assert CALM.most == 1.0
    assert SHIFTING.most is None


def test_capacities_of_the_paper_leave_less_to_gain() -> None:
    assert TABLE_1.most is not None
    assert 1.2 < TABLE_1.most < 1.4


def test_rows_are_told_apart_by_their_names_and_begin_with_plain_backpressure() -> None:
    assert len({row.name for row in FULL}) == len(FULL)
    assert {row.sides[0].name for row in (*FULL, *QUICK)} == {PLAIN.name}


# ---- what is judged


def test_throughputs_are_compared_round_by_round() -> None:
    measured = Measured(
        cells=[cell(EQUAL.name, [sample(250), sample(100), sample(200)], [sample(370), sample(150), sample(200)])],
        simulated=[],
    )
    by_name = {goal.name: goal for goal in goals(measured)}
    assert by_name["throughput_of_helping_equal_capacities"].value == pytest.approx(1.48)
    assert all(goal.holds for goal in by_name.values())
    assert "throughput_of_helping_light_bolts" not in by_name, "it was not measured"


def test_any_backpressure_after_r_has_settled_or_one_tuple_too_many_is_a_goal_missed() -> None:
    doubled = Ledger(emitted=100, lost=0, doubled=1, wrong=0)
    measured = Measured(
        cells=[
            cell(EQUAL.name, [sample(250), sample(250)], [sample(370), sample(370, stopping_s=0.1, ledger=doubled)])
        ],
        simulated=[],
    )
    assert {goal.name for goal in goals(measured) if not goal.holds} == {
        "seconds_under_backpressure_after_r_has_settled",
        "doubled",
    }


def test_latency_counts_where_there_is_no_pressure() -> None:
    measured = Measured(cells=[cell(CALM.name, [sample(300, p50_ms=10.0)], [sample(300, p50_ms=11.0)])], simulated=[])
    assert [goal.name for goal in goals(measured) if not goal.holds] == ["p50_of_plain_over_helping_no_pressure"]


def test_tables_have_a_row_for_each_side() -> None:
    measured = Measured(cells=[cell(EQUAL.name, [sample(250)], [sample(370, stopping_s=2.0)])], simulated=[])
    throughput, pressure, latency, checked, _ = tables(measured)
    assert throughput.rows[1] == (EQUAL.name, HELPING.name, "370", "1.48", "1.5")
    assert pressure.rows[1][3:] == ("3", "0", "20%", "10%", "compute → exclam1 0.33", "1,234")
    assert [len(table.rows) for table in (throughput, pressure, latency, checked)] == [2, 2, 2, 2]


# ---- what is looked at


def look(run_s: float, done: int) -> RunMetrics:
    def component(name: str, kind: str, processed: int, backlog: int) -> ComponentMetrics:
        return ComponentMetrics(
            name=name,
            kind=kind,  # type: ignore[arg-type]
            tasks=1,
            processed=processed,
            helped=0,
            emitted=processed,
            failed=0,
            backlog=backlog,
            processed_per_s=0.0,
            emitted_per_s=0.0,
            busy_share=0.0,
            busiest_share=0.0,
            latency=None,
        )

    histogram = Histogram()
    histogram.record(5_000_000, max(1, done))
    return RunMetrics(
        run_s=run_s,
        components=(component("word", "spout", done + 5, 0), component("check", "bolt", done, int(run_s))),
        tasks=(),
        edges=(),
        end_to_end=None,
        end_to_end_histogram=histogram.to_bytes(),
        lost=0,
        unaccounted=0,
        failures=(),
    )


def test_only_the_window_counts() -> None:
    row = msgspec.structs.replace(EQUAL, settle_s=10.0, window_s=10.0)
    looks = [look(float(second), done=10 * second if second < 10 else 100 + 50 * (second - 10)) for second in range(21)]
    found = _sample(row, looks, EXACT)
    assert found.per_s == pytest.approx(50.0)
    assert found.times.tuples == 500
    assert found.longest_queue == 20
    assert [moment.per_s for moment in found.moments] == [*[10.0] * 10, *[50.0] * 10]


def test_a_chain_that_stands_still_is_an_error() -> None:
    with pytest.raises(RunError, match="nothing came to its end within"):
        _sample(msgspec.structs.replace(EQUAL, window_s=1.0), [look(0.0, 7), look(1.0, 7)], EXACT)
