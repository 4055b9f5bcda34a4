"""How much memory the control group leaves us.

Shared memory beyond the limit is not refused by the kernel: the process is killed. So a ring asks first.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

import msgspec

__all__ = ["MemoryLimit", "free_memory_limit"]


class MemoryLimit(msgspec.Struct, frozen=True, kw_only=True):
    """What is left under the tightest limit, and the file that states it."""

    free_bytes: int
    source: str


def free_memory_limit(
    cgroup_file: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")
) -> MemoryLimit | None:
    """The tightest memory limit over our control groups; None if there is none, or it cannot be read."""
    limits = []
    for group in _memory_groups(cgroup_file, root):
        for limit_name, usage_name in (
            ("memory.max", "memory.current"),
            ("memory.limit_in_bytes", "memory.usage_in_bytes"),
        ):
            with contextlib.suppress(OSError, ValueError):  # no such file, or "max": no limit stated here
                limit = int((group / limit_name).read_text())
                used = int((group / usage_name).read_text()) - _reclaimable(group)
                limits.append(MemoryLimit(free_bytes=max(0, limit - used), source=str(group / limit_name)))
    return min(limits, key=lambda limit: limit.free_bytes, default=None)


def _reclaimable(group: Path) -> int:
    """What the kernel takes back by itself when memory is short: pages of files that nobody has read lately."""
    with contextlib.suppress(OSError, ValueError):
        stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        return int(stat.get("total_inactive_file", stat.get("inactive_file", 0)))
    return 0


def _memory_groups(cgroup_file: Path, root: Path) -> list[Path]:
    """Our memory control group and those above it, under both versions of control groups."""
    groups = []
    with contextlib.suppress(OSError):
        for line in cgroup_file.read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers and "memory" not in controllers.split(","):
                continue
            mount = root / "memory" if controllers else root
            group = mount / path.lstrip("/")
            groups += [group, *(parent for parent in group.parents if parent.is_relative_to(mount))]
    return groups
