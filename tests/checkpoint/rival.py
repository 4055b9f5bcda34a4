"""A run that claims a checkpoint at a given instant, again and again: run by test_lease.py."""

from __future__ import annotations

import json
import sys
import time

from penstock.checkpoint.store import CheckpointStore
from penstock.errors import CheckpointError


def main(run: str) -> None:
    for line in sys.stdin:
        url, at_s = line.rsplit(maxsplit=1)
        store = CheckpointStore.open(url)
        while time.monotonic() < float(at_s):
            pass
        error = ""
        try:
            store.probe()
            store.claim(run)
        except CheckpointError as refused:
            error = str(refused)
        print(json.dumps({"run": run, "error": error}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
