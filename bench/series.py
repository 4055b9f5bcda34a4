"""All benchmarks, one after another: `python -m bench all [--resume]`."""

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.history import REPOSITORY, History
from bench.results import FOLDER, load

Runner = Callable[[Sequence[str]], int]


def run_all(
    names: Sequence[str],
    *,
    resume: bool,
    quick: bool,
    history: History | None = None,
    results: Path = FOLDER,
    run: Runner | None = None,
) -> int:
    """Run each and keep its report as soon as it is there; 1 if one failed, which does not keep the others.

    Each is a process of its own, so that no benchmark starts with what another left behind, and one that crashes is
    only missing. With `resume`, those are skipped that are kept of this very code and were measured as thoroughly.
    """
    history, run = history or History(), run or _run
    failed = []
    for name in names:
        kept = load(name, results)
        if resume and kept and not kept.dirty and kept.quick <= quick and history.is_same_code(kept.commit):
            print(f"==> {name}: kept of this code, on {kept.date}", flush=True)
            continue
        print(f"==> {name}", flush=True)
        if run([name, "--keep", *(["--quick"] if quick else [])]) != 0:
            failed.append(name)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def _run(arguments: Sequence[str]) -> int:
    return subprocess.run([sys.executable, "-m", "bench", *arguments], cwd=REPOSITORY, check=False).returncode
