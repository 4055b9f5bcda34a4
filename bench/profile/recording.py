"""Looks at the workers of a run with py-spy, and at how much CPU time they take."""

import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import msgspec

import penstock as ps
from bench.cpu import cpu_ns
from bench.profile.stacks import shares
from bench.profile.topologies import USER_FILE, chain, word_count
from penstock.spark.session import borrowed_session

_RATE_PER_S = 1_000
_SAMPLES_PER_S = 500
_SETTLE_S = 5.0
_LOOK_S = 8.0
_THREAD = "_Agent."
"""Only the thread that works: the others sleep."""


class ProfileError(Exception):
    """What is looked at could not be."""


class Role(msgspec.Struct, frozen=True, kw_only=True):
    """The worker of one component."""

    component: str
    cpu_us_per_tuple: float
    parts_us: dict[str, float]
    """By category."""


class Recording(msgspec.Struct, frozen=True, kw_only=True):
    """All that was looked at."""

    penstock: str
    words: list[Role]
    """Of a word count, for each word."""
    chain: list[Role]
    """Of a chain, for each tuple."""


def record() -> Recording:
    """Both topologies, one after the other."""
    if shutil.which("py-spy") is None:
        message = "wanted py-spy, which comes with the benchmarks (make bench), on the PATH"
        raise ProfileError(message)
    with borrowed_session(workers=3), tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        words, chained = Path(folder, "words"), Path(folder, "chain")
        words.mkdir()
        chained.mkdir()
        return Recording(
            penstock=ps.__version__,
            words=_look(word_count(str(words)), words, ("lines", "split", "count"), "count"),
            chain=_look(chain(str(chained), _RATE_PER_S), chained, ("spout", "bolt", "sink"), "sink"),
        )


def _look(topology: ps.Topology, folder: Path, components: tuple[str, ...], counted: str) -> list[Role]:
    with ps.start(topology, workers=3, delivery="at_most_once") as run:
        time.sleep(_SETTLE_S)
        pids = {name: int((folder / name).read_text()) for name in components}
        before = {name: cpu_ns(pid) or 0 for name, pid in pids.items()}
        done = _processed(run, counted)
        time.sleep(_LOOK_S)  # first without anybody who looks: that stops them, and would count as theirs
        done = _processed(run, counted) - done
        taken = {name: (cpu_ns(pid) or 0) - before[name] for name, pid in pids.items()}
        parts = {name: _spied_on(pid, folder / f"{name}.stacks") for name, pid in pids.items()}
    if not done:
        message = f"{topology.name}: nothing came to {counted!r} in {_LOOK_S:g} s"
        raise ProfileError(message)
    return [
        Role(
            component=name,
            cpu_us_per_tuple=taken[name] / 1e3 / done,
            parts_us={part: share * taken[name] / 1e3 / done for part, share in parts[name].items()},
        )
        for name in components
    ]


def _processed(run: ps.Run, component: str) -> int:
    return sum(one.processed for one in run.metrics().components if one.name == component)


def _spied_on(pid: int, file: Path) -> dict[str, float]:
    command = ["py-spy", "record", "--native", "--format", "raw", "--rate", str(_SAMPLES_PER_S)]
    subprocess.run(
        [*command, "--duration", f"{_LOOK_S:.0f}", "--pid", str(pid), "--output", str(file)],
        check=True,
        capture_output=True,
    )
    return shares(file.read_text().splitlines(), USER_FILE, _THREAD)
