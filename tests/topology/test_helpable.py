"""Which bolts others may do the work of, and why not."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.connectors.collect import Collect
from penstock.errors import TopologyError
from penstock.topology.bolts import BatchBolt, Bolt, KeyedBolt, StatefulBolt
from penstock.topology.helpable import can_be_helped, unhelped
from penstock.topology.streams import Input
from penstock.topology.topology import Topology
from penstock.topology.tuples import Tuple


class Passing(Bolt):
    fields = ("n",)

    def process(self, tup: Tuple) -> Any:
        return (tup.n,)


class Ticking(Passing):
    def tick(self) -> None:
        """It has something to do."""


class Finishing(Passing):
    def finish(self) -> Any:
        return (0,)


class Writing(Passing):
    side_effects = True


class Keeping(StatefulBolt):
    fields = ("n",)


class Keyed(KeyedBolt):
    fields = ("n",)


class Batching(BatchBolt):
    fields = ("n",)


def about(
    bolt: Any, grouping: str = "shuffle", *, helping: bool | None = None, taken: str | None = "shuffle"
) -> Topology:
    topo = Topology("about")

    def numbers() -> Any:
        yield (1,)

    source = topo.spout("numbers", numbers, fields=("n",))
    by: Input = source.by("n") if grouping == "by" else getattr(source, grouping)()
    it = topo.bolt("it", bolt, by, fields=("n",), helping=helping)
    if taken == "gather":
        topo.bolt("next", print, it.gather("n"))
    elif taken == "combine":
        topo.bolt("next", print, it.to_one(combine=lambda a, b: a))  # noqa: ARG005
    elif taken is not None:
        topo.bolt("next", print, getattr(it, taken)())
    return topo


@pytest.mark.parametrize("grouping", ["shuffle", "local_or_shuffle"])
@pytest.mark.parametrize("taken", ["shuffle", "broadcast", "to_one", "direct"])
def test_a_bolt_without_state_is_helped_by_who_could_send_to_any_of_its_tasks(grouping: str, taken: str) -> None:
    for bolt in (Passing(), lambda tup: (tup.n,)):
        assert can_be_helped(about(bolt, grouping, taken=taken).components, "it")


@pytest.mark.parametrize(
    ("topology", "why"),
    [
        (about(Passing(), helping=False), "helping=False"),
        (about(Keeping()), "it has a state"),
        (about(Keyed(), "by"), "not a Bolt"),
        (about(Batching()), "not a Bolt"),
        (about(Ticking()), r"it has tick\(\)"),
        (about(Finishing()), r"it has finish\(\)"),
        (about(Writing()), "side effects"),
        (about(Passing(), taken=None), "done outside"),
        (about(Passing(), "by"), "which task a tuple comes to"),
        (about(Passing(), "broadcast"), "which task a tuple comes to"),
        (about(Passing(), taken="gather"), "put together on the way to 'next'"),
        (about(Passing(), taken="combine"), "put together on the way to 'next'"),
    ],
)
def test_who_has_to_do_all_of_its_work_itself(topology: Topology, why: str) -> None:
    with pytest.raises(AssertionError, match=why):
        raise AssertionError(unhelped(topology.components, "it"))


def test_neither_a_spout_nor_a_sink_is_helped() -> None:
    topo = about(Passing())
    topo.bolt(
        "rows", Collect(), topo.bolt("more", Passing(), topo.spout("others", iter, fields=("n",)).shuffle()).shuffle()
    )
    assert unhelped(topo.components, "numbers") == "it is a spout"
    assert unhelped(topo.components, "rows") == "it has a state"


def test_a_user_may_know_better_but_not_everything() -> None:
    assert can_be_helped(about(Writing(), helping=True).components, "it")
    assert can_be_helped(about(Passing(), taken=None, helping=True).components, "it")
    with pytest.raises(TopologyError, match=r"helping=True: others cannot do its work: it has finish\(\)"):
        about(Finishing(), helping=True).check()
    with pytest.raises(TopologyError, match="helping: wanted True, False or None, got 'yes'"):
        about(Passing(), helping="yes").check()  # type: ignore[arg-type]
