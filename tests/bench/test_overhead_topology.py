"""The chain as a topology, in one process."""

import json
from pathlib import Path

import pytest

import penstock as ps
from bench.overhead.topology import Collect, Drain, Flood, Forward, Sink, Steady
from bench.overhead.tuples import Pacer
from penstock.testing import run_topology


def answer_of(tmp_path: Path, spout: ps.Spout, sink: type[Sink]) -> dict[str, object]:
    topology = ps.Topology("chain")
    a = topology.spout("a", spout)
    b = topology.bolt("b", Forward(str(tmp_path)), a.shuffle())
    topology.bolt("c", sink(str(tmp_path)), b.shuffle())
    assert run_topology(topology, workers=3).failures == []
    [file] = tmp_path.glob("*.json")
    answer: dict[str, object] = json.loads(file.read_text())
    assert isinstance(cpu_s := answer["cpu_s"], float)
    assert cpu_s > 0
    return answer


@pytest.mark.parametrize("count", [2, 1_000])
def test_unthrottled_all_tuples_come_through(tmp_path: Path, count: int) -> None:
    answer = answer_of(tmp_path, Flood(str(tmp_path), count), Drain)
    assert answer["taken"] == count


def test_at_a_rate_every_tuple_has_a_latency(tmp_path: Path) -> None:
    latencies = answer_of(tmp_path, Steady(str(tmp_path), 10_000, 50), Collect)["latencies_ns"]
    assert isinstance(latencies, list)
    assert len(latencies) == 50
    assert min(latencies) > 0


def test_a_tuple_is_on_its_way_before_the_next_is_waited_for(tmp_path: Path) -> None:
    spout = Steady(str(tmp_path), 100, 2)
    spout.open(ps.TaskContext(topology="chain", component="a"))
    spout.pacer = Pacer(100, 2, clock=lambda: 0)  # on a real one, the next may be due before a busy machine asks for it
    assert spout.next() is not None
    assert spout.next() is None
    assert spout.next() is not None
