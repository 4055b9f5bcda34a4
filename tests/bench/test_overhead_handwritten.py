"""The chains that are no topology, through three real processes."""

import os

import pytest

from bench.overhead.chain import ChainError, Paced
from bench.overhead.handwritten import Handwritten
from bench.overhead.raw_rings import RawRings
from bench.overhead.stage import Stage


@pytest.mark.parametrize("batch", [1, 64])
def test_all_tuples_come_through(batch: int) -> None:
    assert Handwritten(batch).flood(1_000).elapsed_s > 0


def test_every_tuple_has_a_latency_but_those_that_warm_up() -> None:
    run = Handwritten(1).pace(Paced(rate_per_s=5_000, count=300, warm_up=100))
    assert len(run.latencies_ns) == 300
    assert min(run.latencies_ns) > 0


def test_records_pass_two_raw_rings() -> None:
    run = RawRings().pace(Paced(rate_per_s=5_000, count=300, warm_up=100))
    assert len(run.latencies_ns) == 300
    assert min(run.latencies_ns) > 0


@pytest.mark.parametrize("chain", [Handwritten(1), RawRings()])
def test_cpu_time_is_that_of_the_processes_and_grows_with_what_they_do(chain: Handwritten | RawRings) -> None:
    few = chain.pace(Paced(rate_per_s=10_000, count=10, warm_up=0)).cpu_us_per_tuple * 10
    many = chain.pace(Paced(rate_per_s=10_000, count=5_000, warm_up=0)).cpu_us_per_tuple * 5_000
    assert 0 <= few < many


def test_batches_have_no_latency_of_their_own() -> None:
    with pytest.raises(ChainError, match="wanted a message per tuple"):
        Handwritten(64).pace(Paced(rate_per_s=1_000, count=1, warm_up=0))


def test_a_process_that_dies_is_named() -> None:
    with pytest.raises(ChainError, match="_exit died, exit code 3"):
        Stage(_exit)


def _exit(_: object) -> None:
    os._exit(3)
