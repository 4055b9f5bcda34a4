"""What is wanted of helping, judged on what was measured."""

from bench.helping.measured import Cell, Measured
from bench.helping.plan import CALM, CPU, EQUAL, FLOODED, HELPING, LIGHT, SHIFTING
from bench.report import Goal
from bench.stats import Spread


def goals(measured: Measured) -> tuple[Goal, ...]:
    """Each with what was measured; those of rows that were not measured are left out."""
    samples = measured.samples()
    found = [
        _at_least(measured, f"throughput_of_helping_{name}", row.name, limit)
        for name, row, limit in (
            ("equal_capacities", EQUAL, 1.4),
            ("endless_input", FLOODED, 1.4),
            ("cpu_bound", CPU, 1.4),
            ("shifting_load", SHIFTING, 1.0),
            ("light_bolts", LIGHT, 0.98),
            ("no_pressure", CALM, 0.98),
        )
    ]
    equal, calm = measured.cell(EQUAL.name), measured.cell(CALM.name)
    if equal is not None:
        stopping_s = max(sample.settled.stopping_s for sample in equal.rounds[HELPING.name])
        name = "seconds_under_backpressure_after_r_has_settled"
        found.append(Goal(name=name, value=stopping_s, comparison="<=", limit=0))
    if calm is not None:
        sooner = calm.sooner_than_baseline(HELPING.name).median
        found.append(Goal(name="p50_of_plain_over_helping_no_pressure", value=sooner, comparison=">=", limit=0.98))
    return (
        *(goal for goal in found if goal is not None),
        Goal(name="lost", value=sum(sample.ledger.lost for sample in samples), comparison="<=", limit=0),
        Goal(name="doubled", value=sum(sample.ledger.doubled for sample in samples), comparison="<=", limit=0),
        Goal(name="wrong", value=sum(sample.ledger.wrong for sample in samples), comparison="<=", limit=0),
    )


def _at_least(measured: Measured, name: str, row: str, limit: float) -> Goal | None:
    cell = measured.cell(row)
    return None if cell is None else Goal(name=name, value=_helping(cell).median, comparison=">=", limit=limit)


def _helping(cell: Cell) -> Spread:
    return cell.over_baseline(HELPING.name)
