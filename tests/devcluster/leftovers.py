"""What there is of a cluster on this machine, by its id."""

from __future__ import annotations

import subprocess
from pathlib import Path

from penstock.devcluster.marks import marked_processes


def leftovers(cluster: str) -> list[str]:
    """Processes, namespaces and links that belong to a cluster."""
    found = [f"process {pid}" for pid in marked_processes(cluster)]
    found += [f"namespace {name}" for name in _names(Path("/run/netns")) if cluster in name]
    found += [f"link {name}" for name in _names(Path("/sys/class/net")) if cluster in name]
    return found


def commands_naming(cluster: str) -> list[str]:
    """Processes that name the cluster in what they were started with, marked or not."""
    listed = subprocess.run(["ps", "-eo", "pid=,args="], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if cluster in line]


def _names(folder: Path) -> list[str]:
    return [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
