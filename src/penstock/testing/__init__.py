"""The public test kit: topologies in one process, on a clock that the test turns; no Spark, no threads, no sleeping.

A whole topology, run to its end:

    >>> from penstock.testing import CapturedSink, FedSpout, run_topology
    >>> from penstock.topology.topology import Topology
    >>> topo = Topology("shouting")
    >>> words = topo.spout("words", FedSpout([("hello",), ("world",)], fields=("word",)))
    >>> loud = topo.bolt("shout", lambda tup: (tup.word.upper(),), words.shuffle(), fields=("word",))
    >>> _ = topo.bolt("sink", CapturedSink(), loud.to_one())
    >>> result = run_topology(topo)
    >>> result.captured("sink"), result.failures
    ([('HELLO',), ('WORLD',)], [])

Step by step, with `LocalCluster`; one bolt alone, with `BoltTester`; with faults, with `survive`, and on real
Spark with `survive_in_a_box`.

The workers, queues, frames and credit are those of a real run: only the memory between the workers, the clock and the
order in which the workers get their turns are the kit's. So a test with ``workers=3`` sends what it emits through the
encoding that a real run uses, and the same test gives the same result every time.
"""

from penstock.testing.bolt_tester import BoltTester, make_tuple
from penstock.testing.box_chaos import survive_in_a_box
from penstock.testing.captured_sink import CapturedSink
from penstock.testing.chaos import ProcessFaults, survive
from penstock.testing.chaos_report import ChaosReport
from penstock.testing.faults import ClusterFault, Fault
from penstock.testing.fed_spout import FedSpout
from penstock.testing.local_cluster import LocalCluster
from penstock.testing.result import ComponentCounts, FailureCount, Result
from penstock.testing.run import run_topology
from penstock.testing.virtual_clock import VirtualClock

__all__ = [
    "BoltTester",
    "CapturedSink",
    "ChaosReport",
    "ClusterFault",
    "ComponentCounts",
    "FailureCount",
    "Fault",
    "FedSpout",
    "LocalCluster",
    "ProcessFaults",
    "Result",
    "VirtualClock",
    "make_tuple",
    "run_topology",
    "survive",
    "survive_in_a_box",
]
