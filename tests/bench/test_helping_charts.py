from pathlib import Path

import pytest

from bench.helping.account import Ledger
from bench.helping.measured import Cell, Measured, Moment, Sample
from bench.helping.plan import EQUAL, HELPING, PLAIN
from bench.helping.pressure import Pressure
from bench.helping.simulated import Simulated
from bench.helping.simulation import SimulatedMoment
from bench.scheduling.window import Times

pytest.importorskip("matplotlib", reason="comes with the benchmarks")
from bench.helping.charts import save_charts

PNG = b"\x89PNG"


def measured(episodes: int, *simulated: Simulated) -> Measured:
    pressure = Pressure(helped_s=1.0, stopping_s=0.5, episodes=episodes, ratio={"compute → exclam1": 0.3})
    sample = Sample(
        per_s=300.0,
        times=Times(tuples=1, mean_ms=1.0, p50_ms=1.0, p99_ms=1.0),
        window_s=10.0,
        settling=pressure,
        settled=pressure,
        longest_queue=10,
        ledger=Ledger(emitted=1, lost=0, doubled=0, wrong=0),
        moments=[Moment(at_s=float(at), per_s=300.0, queues={}, pressure=pressure) for at in range(3)],
    )
    rounds = {PLAIN.name: [sample], HELPING.name: [sample]}
    return Measured(cells=[Cell(name="equal capacities", most=None, note="", rounds=rounds)], simulated=[*simulated])


@pytest.fixture(scope="module", autouse=True)
def open_fonts(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Matplotlib opens its fonts with the first chart and keeps them; that is no leak of a test."""
    save_charts(tmp_path_factory.mktemp("fonts"), measured(episodes=1))


@pytest.mark.parametrize(("episodes", "names"), [(3, ["r", "throughput", "backpressure"]), (0, [])])
def test_a_row_in_which_somebody_was_helped_has_three_charts(tmp_path: Path, episodes: int, names: list[str]) -> None:
    charts = save_charts(tmp_path, measured(episodes))
    assert [chart.name for chart in charts] == [f"helping-{name}-equal-capacities.png" for name in names]
    assert all(chart.read_bytes().startswith(PNG) for chart in charts)


def test_what_is_simulated_has_one_chart_with_a_line_for_each_step(tmp_path: Path) -> None:
    moments = [SimulatedMoment(at_s=float(at), done=at, stopping_s=0.0, helps=1, stops=0, ratio=0.1) for at in range(9)]
    simulated = [Simulated(name=EQUAL.name, step=step, plain=moments, helped=moments) for step in (0.1, 0.3)]
    (chart,) = save_charts(tmp_path, measured(0, *simulated))
    assert chart.name == "helping-simulated-r.png"
    assert chart.read_bytes().startswith(PNG)
