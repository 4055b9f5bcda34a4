"""Fuzzes one decoder after another: `python -m tests.fuzz [--seconds 60] [--inputs N] [--seed S] [target …]`.

Nearly right inputs are made from real messages. A decoder may raise what it documents, and nothing else; it may not
take much memory, whatever a length announces, and it may not crash. The input that did it is left in build/fuzz, and
`--replay FILE TARGET` tries it again.

With `--atheris` the inputs are found by coverage of the Python code instead, from the same corpus.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tests.fuzz.mutation import MOST_BYTES, mutated
from tests.fuzz.targets import TARGETS, Target

FOLDER = Path("build/fuzz")
# What one process may come to take for all its inputs, beyond what it took at first.
MOST_GROWTH_BYTES = 256 << 20
# Beyond this an allocation fails, so that a length that is believed does not take the machine with it.
MOST_ADDRESSES_BYTES = 8 << 30


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _inputs(target: Target, seed: int, seconds: float, most: int | None) -> Iterator[bytes]:
    corpus = target.corpus()
    yield from corpus
    rng, deadline_s = random.Random(seed), time.monotonic() + seconds
    for _ in itertools.repeat(None) if most is None else itertools.repeat(None, most):
        yield mutated(rng, corpus)
        if most is None and time.monotonic() > deadline_s:
            return


def _fuzz(name: str, *, seed: int, seconds: float, most: int | None) -> int:
    """Tries inputs; the last is in a file all the while, so that it is there after a crash."""
    target = TARGETS[name]
    FOLDER.mkdir(parents=True, exist_ok=True)
    place = FOLDER / name
    tried = 0
    with place.open("wb", buffering=0) as last:
        start_bytes = 0
        for data in _inputs(target, seed, seconds, most):
            os.ftruncate(last.fileno(), 0)
            os.pwrite(last.fileno(), data, 0)
            target.check(data)
            tried += 1
            start_bytes = start_bytes or _peak_bytes()
            grown = _peak_bytes() - start_bytes
            assert grown < MOST_GROWTH_BYTES, f"{name} has come to take {grown} bytes more, of inputs of {MOST_BYTES}"
    place.unlink()
    return tried


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("targets", nargs="*", metavar="target", help=f"by default all: {', '.join(TARGETS)}")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each target")
    parser.add_argument("--inputs", type=int, help="for each target, in place of seconds")
    parser.add_argument("--seed", type=int, help="repeats a run; by default random, and printed")
    parser.add_argument("--replay", type=Path, help="tries one input, and nothing else")
    parser.add_argument("--atheris", action="store_true", help="guided by coverage")
    asked = parser.parse_args()
    if unknown := set(asked.targets) - set(TARGETS):
        parser.error(f"wanted some of {', '.join(TARGETS)}; got {', '.join(sorted(unknown))}")
    names: list[str] = asked.targets or list(TARGETS)
    if asked.atheris:
        for name in names:
            subprocess.run([sys.executable, "-m", "tests.fuzz.guided", name, str(int(asked.seconds))], check=True)
        return
    resource.setrlimit(resource.RLIMIT_AS, (MOST_ADDRESSES_BYTES, MOST_ADDRESSES_BYTES))
    if asked.replay is not None:
        TARGETS[names[0]].check(asked.replay.read_bytes())
        return
    seed = asked.seed if asked.seed is not None else random.SystemRandom().randrange(2**32)
    for name in names:
        print(f"{name}: --seed {seed}", flush=True)
        tried = _fuzz(name, seed=seed, seconds=asked.seconds, most=asked.inputs)
        print(f"{name}: {tried:,} inputs, nothing found", flush=True)


if __name__ == "__main__":
    main()
