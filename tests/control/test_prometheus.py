"""Metrics as Prometheus reads them."""

from __future__ import annotations

import itertools
import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from penstock._native import Histogram
from penstock.control.metrics import HelpCounts, PairCounts, RunMetrics, TaskCounts
from penstock.control.prometheus import prometheus_text
from penstock.control.protocol import Report
from penstock.flow.relief import ReliefState
from tests.control.stage import RUN, Stage

WHOSE = {"run": RUN, "topology": "wordcount"}

# Family: (type, labels besides run and topology).
FAMILIES: dict[str, tuple[str, set[str]]] = {
    "penstock_run_seconds": ("gauge", set()),
    "penstock_worker_restarts": ("counter", set()),
    "penstock_lost_tuples": ("counter", set()),
    "penstock_unaccounted_tuples": ("gauge", set()),
    "penstock_task_processed_tuples": ("counter", {"component", "task"}),
    "penstock_task_emitted_tuples": ("counter", {"component", "task"}),
    "penstock_task_failed_tuples": ("counter", {"component", "task"}),
    "penstock_task_busy_seconds": ("counter", {"component", "task"}),
    "penstock_task_backlog_tuples": ("gauge", {"component", "task"}),
    "penstock_component_latency_seconds": ("gauge", {"component", "quantile"}),
    "penstock_helped_tuples": ("counter", {"component"}),
    "penstock_edge_tuples": ("counter", {"edge", "source", "via", "stream", "target"}),
    "penstock_edge_bytes": ("counter", {"edge", "source", "via", "stream", "target"}),
    "penstock_edge_hop_latency_seconds": ("gauge", {"edge", "source", "via", "stream", "target", "quantile"}),
    "penstock_pressure_seconds": ("counter", {"component", "state"}),
    "penstock_pressure_episodes": ("counter", {"component"}),
    "penstock_waits_for_info": ("gauge", {"component", "too_slow"}),
    "penstock_stopped_seconds": ("counter", {"component", "by"}),
    "penstock_help_ratio": ("gauge", {"source", "target"}),
    "penstock_end_to_end_latency_seconds": ("histogram", set()),
}


def histogram(*values_ns: int) -> bytes:
    made = Histogram()
    for value in values_ns:
        made.record(value)
    return made.to_bytes()


def report(times: int, *values_ns: int) -> Report:
    """What a worker did until now, so many times."""
    return Report(
        at_ns=times * 10**9,
        tasks=(
            TaskCounts(
                task=0,
                processed=100 * times,
                emitted=100 * times,
                busy_ns=250_000_000 * times,
                stopped_by={1: 40_000_000 * times},
            ),
            TaskCounts(
                task=1,
                processed=90 * times,
                failed=3 * times,
                backlog=10,
                episodes=times,
                stopping_ns=50_000_000 * times,
                pressure=ReliefState.STOPPING,
                stopped_now=(3,),
            ),
        ),
        helps=(HelpCounts(edge=0, task=0, processed=20 * times),),
        pairs=(PairCounts(edge=0, source=0, target=1, tuples=100 * times, bytes=6_400 * times),),
        lost=2 * times,
        latency={"count": histogram(*values_ns)},
        hops={0: histogram(*values_ns)},
        ratios={0: 0.25},
    )


def text_of(stage: Stage) -> str:
    controller = stage.controller
    return prometheus_text(controller.status(stage.now_s), controller.metrics(stage.now_s))


def read(text: str) -> dict[str, Metric]:
    families = list(text_string_to_metric_families(text))
    assert len({family.name for family in families}) == len(families)
    return {family.name: family for family in families}


def value(families: dict[str, Metric], name: str, **labels: str) -> float:
    (sample,) = (
        sample
        for family in families.values()
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    )
    return sample.value


@pytest.fixture
def stage() -> Stage:
    """A run of two workers, the first of which has reported."""
    made = Stage()
    first, _ = made.runs()
    made.says(first, report(1, 15_000, 15_000, 3_000_000))
    return made


def test_names_types_and_labels(stage: Stage) -> None:
    families = read(text_of(stage))

    assert {name: family.type for name, family in families.items()} == {
        name: kind for name, (kind, _) in FAMILIES.items()
    }
    for name, (_, labels) in FAMILIES.items():
        assert families[name].samples
        for sample in families[name].samples:
            assert sample.labels.keys() - {"le"} == {"run", "topology"} | labels
            assert WHOSE.items() <= sample.labels.items()


def test_names_follow_the_conventions_of_prometheus(stage: Stage) -> None:
    text = text_of(stage)

    for name, family in read(text).items():
        assert re.fullmatch(r"penstock(_[a-z]+)+", name)
        kind = FAMILIES[name][0]
        exposed = f"{name}_total" if kind == "counter" else name
        # A base unit, or what is counted, last; `_total` for what only grows, and for nothing else.
        assert re.search(r"_(seconds|bytes|tuples|restarts|episodes|ratio|info)(_total)?$", exposed)
        assert exposed.endswith("_total") == (kind == "counter")
        assert text.count(f"# TYPE {exposed} {kind}\n") == 1
        assert text.count(f"# HELP {exposed} {family.documentation}\n") == 1
        assert len(family.documentation) > 10
        assert not family.documentation.endswith(".")
    assert text.endswith("\n")


def test_values_in_base_units(stage: Stage) -> None:
    families = read(text_of(stage))

    assert value(families, "penstock_task_processed_tuples_total", task="1", component="split") == 90
    assert value(families, "penstock_task_failed_tuples_total", task="1") == 3
    assert value(families, "penstock_task_busy_seconds_total", task="0") == 0.25
    assert value(families, "penstock_task_backlog_tuples", task="1") == 10
    assert value(families, "penstock_edge_tuples_total", edge="0", source="lines", target="split") == 100
    assert value(families, "penstock_edge_bytes_total", edge="0", stream="default") == 6_400
    assert value(families, "penstock_helped_tuples_total", component="split") == 20
    assert value(families, "penstock_lost_tuples_total") == 2
    assert value(families, "penstock_unaccounted_tuples") == 10
    for name in ("penstock_component_latency_seconds", "penstock_edge_hop_latency_seconds"):
        assert value(families, name, quantile="0.5") == pytest.approx(15e-6, rel=0.01)
        assert value(families, name, quantile="0.99") == pytest.approx(3e-3, rel=0.01)


def test_no_sample_is_there_twice(stage: Stage) -> None:
    metrics = stage.controller.metrics(stage.now_s)
    # The same stream, taken twice with two groupings.
    twice = msgspec.structs.replace(metrics.edges[0], edge=7)
    metrics = msgspec.structs.replace(metrics, edges=(*metrics.edges, twice))
    text = prometheus_text(stage.controller.status(stage.now_s), metrics)

    samples = [line.rpartition(" ")[0] for line in text.splitlines() if not line.startswith("#")]
    assert len(set(samples)) == len(samples)
    assert sum(sample.startswith("penstock_edge_tuples_total") for sample in samples) == 3


def test_all_families_are_there_before_there_is_data() -> None:
    families = read(text_of(Stage()))

    assert families.keys() == FAMILIES.keys()
    assert value(families, "penstock_end_to_end_latency_seconds_count") == 0
    assert value(families, "penstock_end_to_end_latency_seconds_sum") == 0
    assert value(families, "penstock_run_seconds") == 0


NASTY = 'a"b\\c\nd {x="y"} 1 \\n [µ]'


def test_labels_are_escaped(stage: Stage) -> None:
    metrics = stage.controller.metrics(stage.now_s)
    task = msgspec.structs.replace(metrics.tasks[0], component=NASTY)
    edge = msgspec.structs.replace(metrics.edges[0], stream=NASTY)
    status = msgspec.structs.replace(stage.controller.status(stage.now_s), topology=NASTY)
    text = prometheus_text(status, msgspec.structs.replace(metrics, tasks=(task,), edges=(edge,)))

    families = read(text)
    assert value(families, "penstock_task_processed_tuples_total", topology=NASTY, component=NASTY) == 100
    assert value(families, "penstock_edge_tuples_total", topology=NASTY, stream=NASTY) == 100


# ---- what only grows


def counts(families: dict[str, Metric]) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """All samples that may never fall: those of counters, and of the histogram."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families.values()
        if family.type in ("counter", "histogram")
        for sample in family.samples
    }


def test_counters_never_fall_while_workers_come_and_go() -> None:
    stage = Stage()
    first, second = stage.runs()
    pictures = [counts(read(text_of(stage)))]

    def looks() -> None:
        pictures.append(counts(read(text_of(stage))))

    for times in (1, 2, 3):
        stage.says(first, report(times, 1_000 * times))
        looks()
        stage.passes(6, first, second)  # windows of what is so lately pass
        looks()
    stage.host_ends(0, error="killed")
    looks()
    again = stage.comes(0, launch=2)
    looks()
    stage.says(again, report(1, 70_000))  # counts from 0 again
    looks()

    for before, after in itertools.pairwise(pictures):
        assert before.keys() <= after.keys()  # who was never pressed is not told of
        assert {key: after[key] for key in before if after[key] < before[key]} == {}
    last = {name: number for (name, labels), number in pictures[-1].items() if ("task", "0") in labels}
    assert last["penstock_task_processed_tuples_total"] == 400
    assert any(name == "penstock_worker_restarts_total" and number == 1 for (name, _), number in pictures[-1].items())


# ---- the histogram


def latency_samples(metrics: RunMetrics) -> tuple[list[Sample], float, float]:
    """The buckets in order, the count, the sum."""
    stage = Stage()
    family = read(prometheus_text(stage.controller.status(0.0), metrics))["penstock_end_to_end_latency_seconds"]
    kinds: dict[str, list[Sample]] = {"bucket": [], "count": [], "sum": []}
    for sample in family.samples:
        kinds[sample.name.rpartition("_")[2]].append(sample)
    (count,), (total,) = kinds["count"], kinds["sum"]
    return kinds["bucket"], count.value, total.value


def with_latencies(values_ns: list[int]) -> RunMetrics:
    return msgspec.structs.replace(Stage().controller.metrics(0.0), end_to_end_histogram=histogram(*values_ns))


def test_bounds_are_round_numbers_of_seconds() -> None:
    buckets, _, _ = latency_samples(with_latencies([]))

    bounds = [bucket.labels["le"] for bucket in buckets]
    assert bounds[:4] == ["1e-05", "2e-05", "5e-05", "0.0001"]
    assert bounds[-3:] == ["5.0", "10.0", "+Inf"]
    assert all(len(bound) <= 6 for bound in bounds)


@given(st.lists(st.integers(0, 10**11), max_size=50))
def test_buckets_are_cumulative_and_tell_no_tuple_faster_than_it_was(values_ns: list[int]) -> None:
    buckets, count, total = latency_samples(with_latencies(values_ns))

    bounds = [float(bucket.labels["le"]) for bucket in buckets]
    numbers = [bucket.value for bucket in buckets]
    assert bounds == sorted(set(bounds))
    assert numbers == sorted(numbers)
    assert numbers[-1] == count == len(values_ns)
    assert total == pytest.approx(sum(values_ns) / 1e9)
    for bound, number in zip(bounds, numbers, strict=True):
        # Ours are 0.8 % wide, so a value that close below a bound may be counted above it.
        assert sum(value <= bound * 1e9 * 0.992 for value in values_ns) <= number
        assert number <= sum(value <= bound * 1e9 for value in values_ns)
