"""Random faults on a real cluster: workers, executors and nodes. `make chaos` gives it more rounds."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.flow.delivery import Delivery

pytestmark = pytest.mark.box

ROOT = Path(__file__).parents[2]
SEED = int(os.environ.get("PENSTOCK_CHAOS_SEED", "0")) or random.SystemRandom().randrange(1, 2**32)
ROUNDS = int(os.environ.get("PENSTOCK_CHAOS_BOX_ROUNDS", "1"))
FAULTS = 8


@pytest.mark.parametrize("number", range(ROUNDS))
@pytest.mark.parametrize("delivery", ["at_least_once", "exactly_once"])
def test_whatever_happens_the_promise_is_kept(delivery: Delivery, number: int) -> None:
    """For the same faults again: PENSTOCK_CHAOS_SEED with the seed that it names, and PENSTOCK_CHAOS_BOX_ROUNDS=1."""
    words = [delivery, str(SEED + number), str(FAULTS)]
    print(f"\n{delivery}, seed {SEED + number}", flush=True)
    done = subprocess.run(
        [sys.executable, "-m", "tests.devcluster.chaos_driver", *words],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    # Spark tells of every loss at length; what is ours is at the start of a line and short.
    print(
        *(line for line in done.stdout.splitlines() if line.startswith(("seed ", "kill_", "stop_", "cut_", "slow_"))),
        sep="\n",
    )
    assert done.returncode == 0, done.stdout[-20_000:]
    assert " faults, 0 rows missing" in done.stdout
