"""A driver is killed at random moments: what it said is committed is there, whole, for the next one."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

from penstock.checkpoint.store import CheckpointStore
from tests.checkpoint.examples import files_in

ROOT = Path(__file__).parent.parent.parent
KILLS = 12
# A life of the driver takes some milliseconds per epoch: the moment of the kill falls anywhere in it.
MOST_DELAY_S = 0.02


def test_the_latest_epoch_is_whole_whenever_the_driver_dies(tmp_path: Path) -> None:
    seed = int.from_bytes(os.urandom(4), "big")
    print(f"seed {seed}")
    chance = random.Random(seed)
    store = CheckpointStore.open(tmp_path)
    for _ in range(KILLS):
        said = _epoch_said_last_before_a_kill(tmp_path, chance)
        found = store.latest()
        assert found is not None
        assert found.epoch >= said
        for part in found.parts():
            assert len(store.read_part(part)) == 20_000
        # Everything is either needed or soon to be cleaned; nothing piles up.
        assert len(files_in(tmp_path)) < 50

    for draft in tmp_path.glob("*.writing"):  # of a lease: swept by a claim that comes long after
        os.utime(draft, (0, 0))
    store.claim("heir")  # the driver is dead, and known to be
    store.clean(keep=1, abandoned_before=10**9)
    last = store.latest()
    assert last is not None
    manifests = {f"manifests/{last.epoch:012d}.json"}
    assert files_in(tmp_path) == {part.path for part in last.parts()} | manifests


def _epoch_said_last_before_a_kill(folder: Path, chance: random.Random) -> int:
    command = [sys.executable, "-m", "tests.checkpoint.endless_driver", str(folder)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout is not None
        lines = [driver.stdout.readline() for _ in range(chance.randint(1, 6))]
        time.sleep(chance.uniform(0, MOST_DELAY_S))
        driver.kill()
        lines += driver.stdout.readlines()
    whole = [int(line) for line in lines if line.endswith("\n")]
    assert whole, "the driver committed nothing"
    return whole[-1]
