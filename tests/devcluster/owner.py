"""A process that owns a cluster until it is asked to stop, with a guest on node 1.

`python -m tests.devcluster.owner REGISTRY NETWORK`
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from penstock.devcluster import ClusterRegistry, DevCluster, DevClusterSettings

if __name__ == "__main__":
    settings = DevClusterSettings(nodes=2, slots_per_node=1, network=sys.argv[2])  # type: ignore[arg-type]
    with (
        DevCluster(settings, registry=ClusterRegistry(Path(sys.argv[1]))) as cluster,
        subprocess.Popen(cluster.command_at(1, ["sleep", "1000"])),
    ):
        while cluster.nodes[1].processes < 2:
            time.sleep(0.01)
        print(cluster.id, flush=True)
        cluster.wait()
        cluster.close()  # which ends the guest too
