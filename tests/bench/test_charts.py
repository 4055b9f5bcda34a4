from pathlib import Path

import pytest

from bench.backlog.simulated import BY_QUEUES, BY_RATE, simulate_all
from bench.broadcast.simulation import simulate
from bench.ipc.contest import LatencyRow
from bench.scheduling.measured import Measured, Moment, Overload
from bench.stats import Spread
from penstock.devcluster.settings import Shape

pytest.importorskip("matplotlib", reason="comes with the benchmarks")
from bench.backlog.charts import save_simulation_charts as save_backlog_charts
from bench.broadcast.simulation_charts import save_simulation_charts
from bench.ipc.charts import save_charts
from bench.scheduling.charts import save_charts as save_overload_charts

PNG = b"\x89PNG"


def row(transport: str, size_bytes: int, rate_per_s: int) -> LatencyRow:
    spread = Spread.over([float(size_bytes + rate_per_s)])
    return LatencyRow(
        transport=transport,
        size_bytes=size_bytes,
        rate_per_s=rate_per_s,
        mean_us=spread,
        p50_us=spread,
        p99_us=spread,
        saturated=False,
    )


@pytest.fixture(scope="module", autouse=True)
def open_fonts(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Matplotlib opens its fonts with the first chart and keeps them; that is no leak of a test."""
    save_charts(tmp_path_factory.mktemp("fonts"), [row("ring", 10240, 100)], {})


def test_there_is_a_chart_for_each_figure_of_the_paper(tmp_path: Path) -> None:
    rows = [row(name, size, rate) for name in ("ring", "Netty") for size in (10240, 40960) for rate in (100, 3000)]
    charts = save_charts(tmp_path, rows, {65536: [row("ring of 64 KB", 10240, 3000)], 131072: []})
    assert [chart.name for chart in charts] == [
        "latency-by-size-at-100-per-s.png",
        "latency-by-size-at-3000-per-s.png",
        "latency-by-rate-of-10-kb.png",
        "latency-by-rate-of-40-kb.png",
        "latency-by-ring-size.png",
    ]
    assert all(chart.read_bytes().startswith(PNG) for chart in charts)


def test_there_is_no_chart_of_nothing(tmp_path: Path) -> None:
    assert save_charts(tmp_path, [], {65536: []}) == ()


def test_what_is_simulated_of_broadcasts_has_two_charts_for_each_size(tmp_path: Path) -> None:
    charts = save_simulation_charts(tmp_path, simulate(nodes=(8, 16), sizes_bytes=(100, 10240)))
    assert [chart.name for chart in charts] == [
        *("simulated-latency-100-B.png", "simulated-rate-100-B.png"),
        *("simulated-latency-10-KB.png", "simulated-rate-10-KB.png"),
    ]
    assert all(chart.read_bytes().startswith(PNG) for chart in charts)


def test_an_overload_has_a_chart_over_seconds_before_and_after(tmp_path: Path) -> None:
    moments = [
        Moment(at_s=-1.0, mean_ms=2.0, workers=1, nodes=1),
        Moment(at_s=0.0, mean_ms=None, workers=1, nodes=1),
        Moment(at_s=1.0, mean_ms=900.0, workers=4, nodes=2),
    ]
    overload = Overload(name="Word Count, 4N8W", per_s=100.0, moments=moments)
    measured = Measured(links=Shape(), cells=[], overloads=[overload], gaps=[], planned=[])
    (chart,) = save_overload_charts(tmp_path, measured)
    assert chart.name == "overload-word-count.png"
    assert chart.read_bytes().startswith(PNG)


def test_what_is_simulated_of_backlogs_has_two_charts_for_each_figure(tmp_path: Path) -> None:
    charts = save_backlog_charts(tmp_path, simulate_all((BY_RATE[0], BY_QUEUES[0]), seeds=1))
    assert [chart.name for chart in charts] == [
        *("worst-backlog-by-rate.png", "worst-backlog-by-queues.png"),
        *("fairness-by-rate.png", "fairness-by-queues.png"),
        *("delay-by-rate.png", "delay-by-queues.png"),
    ]
