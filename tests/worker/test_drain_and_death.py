"""A run that is drained finishes what its spouts have emitted, also if somebody dies meanwhile."""

from hypothesis import given
from hypothesis import strategies as st

from penstock.connectors.collect import Collect
from penstock.flow.delivery import Delivery
from penstock.testing import LocalCluster
from penstock.topology.context import TaskContext
from penstock.topology.spouts import Spout
from penstock.topology.topology import Topology
from penstock.worker.settings import WorkerSettings


class Endless(Spout):
    """Counts, some numbers at a time, and remembers for the test how far it came."""

    fields = ("n",)
    furthest = 0

    def open(self, context: TaskContext) -> None:  # noqa: ARG002
        self.emitted = 0

    def next(self) -> list[tuple[int]]:
        first, self.emitted = self.emitted, self.emitted + 3
        Endless.furthest = max(Endless.furthest, self.emitted)
        return [(n,) for n in range(first, self.emitted)]

    def position(self) -> int:
        return self.emitted

    def seek(self, position: int) -> None:
        self.emitted = position


sizes = st.builds(
    WorkerSettings,
    credit_window_bytes=st.integers(1, 300),
    inbox_bytes=st.integers(1, 300),
    outgoing=st.sampled_from(["fifo", "round_robin", "lbf"]),
    outgoing_interval_ms=st.sampled_from([0.0, 10.0]),
    turn_tuples=st.integers(1, 8),
    spout_turn_tuples=st.integers(1, 8),
    max_pending=st.integers(1, 60),
    singly_tuples=st.sampled_from([0, 1000]),
)


@given(
    st.sampled_from(["at_least_once", "exactly_once"]),
    st.integers(0, 200),
    st.integers(0, 1),
    st.integers(0, 40),
    st.integers(0, 2**32),
    sizes,
)
def test_what_was_under_way_when_a_run_was_drained_is_finished_though_a_worker_dies(
    delivery: Delivery, before: int, victim: int, between: int, seed: int, sized: WorkerSettings
) -> None:
    Endless.furthest = 0
    topo = Topology("drained")
    doubled = topo.bolt("double", lambda tup: (2 * tup.n,), topo.spout("n", Endless()).shuffle(), fields=("n",))
    topo.bolt("all", Collect(), doubled.shuffle())
    with LocalCluster(topo, workers=2, seed=seed, delivery=delivery, settings=sized) as cluster:
        for turn in range(before):
            cluster.step()
            if turn % 50 == 0:
                cluster.begin_epoch()
        cluster.drain()
        emitted = Endless.furthest
        for _ in range(between):
            cluster.step()
        cluster.kill(victim)
        cluster.restart(victim)
        cluster.run_to_end()
        collected = [n for (n,) in cluster.result().collected("all")]

    if delivery == "at_least_once":
        assert {*range(0, 2 * emitted, 2)} <= {*collected}
    else:  # what is taken back was never emitted: a whole beginning of the stream, and each of it once
        assert sorted(collected) == [*range(0, 2 * len(collected), 2)]
