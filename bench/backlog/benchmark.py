"""The run: simulate, judge, draw."""

import msgspec

from bench.backlog.charts import save_simulation_charts
from bench.backlog.goals import simulation_goals
from bench.backlog.simulated import BY_QUEUES, BY_RATE, simulate_all
from bench.backlog.tables import simulation_tables
from bench.report import Outcome
from bench.settings import RunSettings

_SEEDS, _QUICK_SEEDS = 9, 2


def run(settings: RunSettings) -> Outcome:
    """Everything."""
    seeds = _QUICK_SEEDS if settings.quick else _SEEDS
    wanted = list(dict.fromkeys((*BY_RATE, *BY_QUEUES)))
    with settings.progress.stage("simulation", len(wanted)) as step:
        cells = simulate_all(wanted, seeds, step)
    return Outcome(
        figures={"seeds": seeds, "simulated": msgspec.to_builtins(cells)},
        goals=simulation_goals(cells),
        tables=simulation_tables(cells, seeds),
        plots=save_simulation_charts(settings.out, cells),
    )
