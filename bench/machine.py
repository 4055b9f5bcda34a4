"""What the figures were measured on."""

import os
import platform
import shutil
import subprocess
from importlib import metadata
from pathlib import Path

import msgspec

_PACKAGES = ("penstock", "pyspark", "pyzmq", "msgspec", "faster-fifo", "iceoryx2")


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """Hardware and software a reader needs to judge the figures; nothing that names the host."""

    cpu: str
    cores: int
    load_average: float | None
    """How many processes wanted a core when this was asked: near 0, or the figures were measured in a crowd."""
    memory_gb: float
    kernel: str
    python: str
    java: str | None
    packages: dict[str, str]

    @property
    def text(self) -> str:
        """In one line."""
        load = "" if self.load_average is None else f" (load average {self.load_average:g} at the start)"
        versions = ", ".join(f"{name} {version}" for name, version in self.packages.items())
        return (
            f"{self.cpu}, {self.cores} cores{load}, {self.memory_gb:g} GB; {self.kernel}; {self.python}; "
            f"{self.java or 'no Java'}; {versions}"
        )


def describe_machine() -> Machine:
    """The machine this process runs on, with the cores this process may use."""
    return Machine(
        cpu=_cpu_model(),
        cores=len(os.sched_getaffinity(0)),
        load_average=round(os.getloadavg()[0], 2),
        memory_gb=round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        kernel=f"{platform.system()} {platform.release()}",
        python=f"{platform.python_implementation()} {platform.python_version()}",
        java=_java_version(),
        packages={name: version for name in _PACKAGES if (version := _version(name))},
    )


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _java_version() -> str | None:
    java = shutil.which("java")
    if java is None:
        return None
    answer = subprocess.run([java, "--version"], capture_output=True, text=True, check=False)
    return answer.stdout.partition("\n")[0] or None


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
