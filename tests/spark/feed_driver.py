"""Drivers of a topology that Spark feeds.

`python -m tests.spark.feed_driver FOLDER` runs until it is killed; with a second argument, to the end of FOLDER/in.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from penstock.spark.run import run, start
from penstock.spark.session import local_session
from tests.ring.patience import wait_until
from tests.spark.arrivals import Arrivals, numbers_in, numbers_to_files
from tests.spark.scenarios import pids

EPOCH_S = 0.2
FILES = 12


def fed(spark: Any, *, folder: Path, workers: int, kills: bool) -> tuple[list[int], int]:
    """Runs a topology that is fed, perhaps with a worker killed meanwhile. Returns what came, and how many should."""
    arrivals = Arrivals(folder / "in")
    arrivals.more(FILES)
    topo = numbers_to_files(spark, folder, arrivals, tasks=1, available_now=not kills)
    settings = {"spark": spark, "workers": workers, "checkpoint": folder / "checkpoint", "epoch_every_s": EPOCH_S}
    with start(topo, **settings) as running:
        if kills:
            wait_until(lambda: numbers_in(folder), "rows have come")
            arrivals.more(5)  # the others may all have been read
            os.kill(pids(running)[0], signal.SIGKILL)
            wait_until(lambda: len({*numbers_in(folder)}) == arrivals.count, "all rows have come", patience_s=300)
            running.drain()
        running.wait()
    return numbers_in(folder), arrivals.count


def main(folder: Path, *, to_the_end: bool) -> None:
    """Is a user's script."""
    spark = local_session(workers=2)
    topo = numbers_to_files(spark, folder, Arrivals(folder / "in"), available_now=to_the_end)
    run(topo, spark=spark, workers=2, checkpoint=folder / "checkpoint", epoch_every_s=EPOCH_S)


if __name__ == "__main__":
    main(Path(sys.argv[1]), to_the_end=len(sys.argv) > 2)
