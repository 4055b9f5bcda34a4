"""Which node this process is on. Processes of one node share memory; others use the network.

Memory is handed over as a descriptor, through a unix socket in the abstract namespace. For that two processes must

- run on the same kernel: its boot id and host name say so (machines made from one snapshot can have one boot id);
- be in the same *network* namespace, which is where abstract sockets live: this is what keeps pods apart;
- be in the same *pid* and *user* namespaces, because a ring knows its writers by pid and lets in its own user only.

The mount and ipc namespaces do not matter: the memory has no name in any file system, and /dev/shm is not used. That
two processes have the same identity is a claim; they prove it by attaching, and fall back to the network.
"""

from __future__ import annotations

import hashlib
import os
import socket
from pathlib import Path

__all__ = ["NODE_VARIABLE", "node_identity"]

NODE_VARIABLE = "PENSTOCK_NODE"
"""Set for an executor, it is taken as the node's identity as it stands."""

_NAMESPACES = ("net", "pid", "user")


def node_identity() -> str:
    """Equal for processes that can share memory, as far as one can tell from here."""
    given = os.environ.get(NODE_VARIABLE)
    if given:
        return given
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    namespaces = [str(Path("/proc/self/ns", name).readlink()) for name in _NAMESPACES]
    marks = "\n".join([socket.gethostname(), boot_id, *namespaces])
    return hashlib.blake2s(marks.encode(), digest_size=8).hexdigest()
