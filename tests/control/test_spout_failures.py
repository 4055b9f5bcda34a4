"""Real worker processes whose spouts raise: people are told while it goes on, and how the run fails in the end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.connectors.collect import Collect
from penstock.connectors.rate import Rate
from penstock.control.protocol import SpoutFailing
from penstock.errors import RunError
from penstock.flow.delivery import Delivery
from penstock.topology.spouts import Spout
from penstock.topology.topology import Topology
from tests.control.processes import processes
from tests.control.stage import Stage


class Broken(Spout):
    """Raises until a file is there."""

    fields = ("n",)

    def __init__(self, until: Path) -> None:
        self.until = until
        self.gave = False

    def next(self) -> Any:
        if self.gave:
            raise StopIteration
        if not self.until.exists():
            message = "no connection"
            raise ConnectionError(message)
        self.gave = True
        return (1,)


def broken(until: Path) -> Topology:
    """With another spout, which has nothing to do with it, in the same worker."""
    topo = Topology("broken")
    topo.bolt("sink", Collect(), topo.spout("numbers", Broken(until)).shuffle())
    topo.bolt("others", Collect(), topo.spout("rate", Rate(200.0)).shuffle())
    return topo


@pytest.mark.parametrize("delivery", ["at_most_once", "at_least_once"])
def test_a_spout_that_fails_is_told_of_once_while_others_go_on(tmp_path: Path, delivery: Delivery) -> None:
    until = tmp_path / "there"
    with processes(broken(until), workers=1, delivery=delivery, max_spout_failures=1_000_000) as run:
        notice = run.await_notice("spout 'numbers' (task 0)", "ConnectionError: no connection", "1000000 times")
        run.await_tuples("others", 100)
        assert run.status().notices == (notice,)
        [failure] = run.metrics().failures
        assert (failure.component, failure.message) == ("numbers", "no connection")
        until.touch()
        run.await_total("sink", 1)
        run.server.drain()
        assert run.summary().collected("sink") == [(1,)]


def test_a_spout_that_always_fails_ends_the_run(tmp_path: Path) -> None:
    with (
        processes(broken(tmp_path / "never"), workers=2, max_spout_failures=5) as run,
        pytest.raises(RunError, match=r"'numbers' .task 0. has failed 5 times in a row, .* no connection"),
    ):
        run.summary()


def some_and_an_exception() -> Iterator[Any]:
    yield from ((n,) for n in range(100))
    message = "half way"
    raise OSError(message)


@pytest.mark.parametrize("delivery", ["at_most_once", "at_least_once"])
def test_a_generator_that_raises_fails_the_run(delivery: Delivery) -> None:
    topo = Topology("half-way")
    topo.bolt("sink", Collect(), topo.spout("numbers", some_and_an_exception, fields=("n",)).shuffle())
    with (
        processes(topo, workers=2, delivery=delivery) as run,
        pytest.raises(RunError, match=r"spout 'numbers' .task 0. raised OSError: half way; a generator cannot go on"),
    ):
        run.summary()


def test_the_same_trouble_again_is_one_notice() -> None:
    stage = Stage()
    first, _ = stage.runs()
    for _ in range(3):
        stage.says(first, SpoutFailing(component="lines", task=0, trouble="fails again and again: OSError"))
    assert stage.status().notices == ("spout 'lines' (task 0) fails again and again: OSError",)
