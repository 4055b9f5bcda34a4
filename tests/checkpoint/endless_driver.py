"""A driver that commits epoch after epoch until it is killed, and says which: run by test_kills.py."""

from __future__ import annotations

import os
import sys

from penstock.checkpoint.manifest import PartRef
from penstock.checkpoint.store import CheckpointStore
from tests.checkpoint.examples import manifest


def main(url: str) -> None:
    run = f"run of {os.getpid()}"
    store = CheckpointStore.open(url)
    store.claim(run)
    before = store.latest()
    chains: list[tuple[PartRef, ...]] = [task.parts for task in before.tasks] if before else [(), (), ()]
    epoch = before.epoch if before else 0
    store.clean(keep=2, abandoned_before=epoch + 1)
    while True:
        epoch += 1
        for task, chain in enumerate(chains):
            ref = store.write_part(epoch=epoch, task=task, payload=os.urandom(20_000))
            chains[task] = (*chain[-3:], ref)
        store.commit(manifest(epoch, *chains, run=run))
        print(epoch, flush=True)
        store.clean(keep=2)


if __name__ == "__main__":
    main(sys.argv[1])
