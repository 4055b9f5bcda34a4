"""A driver whose checkpoint is on a small disk: `python -m tests.spark.full_disk FOLDER`, as `on_a_small_disk` runs it.

The disk is full for a while. Prints what was noticed when all is over and the output was exact.
"""

from __future__ import annotations

import errno
import sys
from pathlib import Path
from typing import Any

from penstock.spark.session import borrowed_session
from tests.ring.patience import wait_until
from tests.spark import counted
from tests.spark.trouble import endured

_DISK_BYTES = 4 << 20
_MOUNT = f'mount -t tmpfs -o size={_DISK_BYTES} none "$0" && exec "$@"'


def on_a_small_disk(folder: Path, command: list[str]) -> list[str]:
    """The command, with a small disk at the folder that nobody else sees, and that is gone when its processes are."""
    return ["unshare", "--mount", "sh", "-c", _MOUNT, str(folder), *command]


def fill(ballast: Path) -> None:
    """Leaves no room at all."""
    with ballast.open("wb", buffering=0) as file:
        for size in (4096, 1):
            try:
                while True:
                    file.write(bytes(size))
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise


def full_for_a_while(running: Any, *, folder: Path) -> list[str]:
    """The disk is full until that is noticed; returns the notices."""
    ballast, manifests = folder / "ballast", folder / "checkpoint" / "manifests"

    def noticed() -> list[str]:
        return [text for text in running.status().notices if "No space left" in text]

    fill(ballast)
    wait_until(noticed, "somebody says that the disk is full")
    assert running.status().phase == "running"
    before = set(manifests.iterdir())
    ballast.unlink()
    wait_until(lambda: set(manifests.iterdir()) - before, "epochs are committed again")
    return noticed()


def main(folder: Path) -> None:
    with borrowed_session(workers=2) as spark:
        result = endured(
            spark,
            trouble=lambda running: full_for_a_while(running, folder=folder),
            delivery="exactly_once",
            workers=2,
            folder=folder,
            broadcast="flat",
        )
    assert counted.epochs(folder / "checkpoint")
    print("exact:", *result["told"], flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
