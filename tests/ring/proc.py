"""What the kernel says of a process."""

from pathlib import Path


def open_descriptors(pid: int | str = "self") -> list[int]:
    """Of a listing of ourselves, one is the listing's own: always the lowest free number, so counts can be compared."""
    return sorted(int(entry.name) for entry in Path(f"/proc/{pid}/fd").iterdir())


def descriptor_target(descriptor: int, pid: int | str = "self") -> str:
    return str(Path(f"/proc/{pid}/fd/{descriptor}").readlink())


def state(pid: int) -> str:
    """One letter: R running, S sleeping, T stopped, Z a zombie."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def has_a_ring_mapped() -> bool:
    return "memfd:penstock-ring" in Path("/proc/self/maps").read_text()
