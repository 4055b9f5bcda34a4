"""The chain by hand, through three real processes."""

import os

import pytest

from bench.overhead.chain import ChainError, Paced
from bench.overhead.handwritten import Handwritten, Stage


@pytest.mark.parametrize("batch", [1, 64])
def test_all_tuples_come_through(batch: int) -> None:
    assert Handwritten(batch).flood_s(1_000) > 0


def test_every_tuple_has_a_latency_but_those_that_warm_up() -> None:
    latencies = Handwritten(1).latencies_ns(Paced(rate_per_s=5_000, count=300, warm_up=100))
    assert len(latencies) == 300
    assert min(latencies) > 0


def test_batches_have_no_latency_of_their_own() -> None:
    with pytest.raises(ChainError, match="wanted a message per tuple"):
        Handwritten(64).latencies_ns(Paced(rate_per_s=1_000, count=1, warm_up=0))


def test_a_process_that_dies_is_named() -> None:
    with pytest.raises(ChainError, match="_exit died, exit code 3"):
        Stage(_exit)


def _exit(_: object) -> None:
    os._exit(3)
