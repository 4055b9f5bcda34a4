"""A cluster in a box: a real Spark standalone cluster on one machine, whose nodes can be cut off, slowed and killed.

    with DevCluster(DevClusterSettings(nodes=3, slots_per_node=2)) as cluster:
        cluster.master_url              # spark://198.18.0.1:7077
        cluster.spark_settings()        # for a driver on this machine
        cluster.cut_off(1)
        cluster.rejoin(1)

Where it may, each node has a network namespace of its own, joined to the others by virtual Ethernet; else an address of
its own on the loopback interface.
"""

from penstock.devcluster.cluster import DevCluster
from penstock.devcluster.registry import ClusterRegistry
from penstock.devcluster.settings import DevClusterSettings
from penstock.errors import DevClusterError

__all__ = ["ClusterRegistry", "DevCluster", "DevClusterError", "DevClusterSettings"]
