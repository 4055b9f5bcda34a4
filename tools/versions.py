"""Runs the core tests on each version of Spark that Penstock supports, and writes what passed into docs/running.md.

python -m tools.versions            all of them; fails if one does not pass, and then leaves the page as it is
python -m tools.versions --quick    the oldest, without streams; writes nothing
python -m tools.versions 4.0 4.1    these; writes nothing

Each pair of a Spark and a Python has an environment of its own below build/versions, with a wheel of this tree, built
once for each Python. Core tests are those marked `core`. The table is made from their results alone.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import os
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

ROOT = Path(__file__).parent.parent
BUILD = ROOT / "build" / "versions"
PAGE = ROOT / "docs" / "running.md"
BEGIN, END = "<!-- versions: made by `make versions` -->", "<!-- end of versions -->"

STREAMS_OUT = '`format("penstock")` out'
AREAS = {
    "topologies": ("tests.spark.test_topologies", "tests.spark.test_spark_version"),
    "guarantees, with kills": ("tests.spark.test_guarantees",),
    "`ps.transform`": ("tests.spark.test_transform",),
    "`StreamingFrame` in": ("tests.spark.test_streaming_frame",),
    STREAMS_OUT: ("tests.spark.test_streams",),
}


def _file(module: str) -> str:
    return f"{module.replace('.', '/')}.py"


FILES = [_file(module) for modules in AREAS.values() for module in modules]
QUICK = [_file(module) for modules in list(AREAS.values())[:3] for module in modules]
SHOWN = ("pyspark", "pandas", "numpy", "pyarrow")

TEST_TOOLS = ("hypothesis>=6.100", "pytest>=8.3", "pytest-timeout>=2.3")
# Warnings are errors in `make test`, on the newest Spark. Older ones make deprecated calls and leave sockets open.
PYTEST = ("-q", "-m", "core and not cluster and not box", "-o", "filterwarnings=ignore", "-p", "no:cacheprovider")


class Target(msgspec.Struct, frozen=True):
    """A Spark on a Python, and what else is to be of a certain version."""

    spark: str
    python: str
    more: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    """Areas whose tests this Spark has to skip. Everywhere else a test that is skipped has not passed."""

    @property
    def folder(self) -> Path:
        """Its environment."""
        return BUILD / f"spark-{self.spark}-python-{self.python}"

    def __str__(self) -> str:
        return f"Spark {self.spark} on Python {self.python}"


# A sample: every Python that each Spark supports would take an hour. Spark 3.5
# imports `distutils`, which Python has had until 3.11, and setuptools has since.
MATRIX = (
    Target("3.5", "3.11", ("pandas<3",), lacks=(STREAMS_OUT,)),
    Target("3.5", "3.12", ("pandas>=3", "setuptools"), lacks=(STREAMS_OUT,)),
    Target("4.0", "3.12", ("pandas<3",)),
    Target("4.1", "3.13", ("pandas<3",)),
    Target("4.3", "3.11", ("pandas<3",)),
    Target("4.3", "3.13", ("pandas>=3",)),
)


class Result(msgspec.Struct, frozen=True):
    """What came of a target."""

    target: Target
    versions: dict[str, str]
    areas: dict[str, str]
    """``yes``, or ``no: …`` where this Spark cannot do it, with the reason, or ``failed``."""
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether everything that is to pass did."""
        return "failed" not in self.areas.values()


def main() -> int:
    """Runs them, shows how far it is, and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sparks", nargs="*", help="such as 4.0; all by default")
    parser.add_argument("--quick", action="store_true", help="the oldest only, and no streams")
    given = parser.parse_args()
    chosen = [one for one in MATRIX if one.spark in given.sparks or not given.sparks]
    if given.quick:
        chosen = [on_a_python_that_is_here(chosen[0])]
    if not chosen:
        parser.error(f"wanted some of {', '.join(sorted({one.spark for one in MATRIX}))}, got {given.sparks}")
    tree = commit()  # before anything runs: it is this that is tested
    results = []
    for number, target in enumerate(chosen, 1):
        print(f"==> [{number}/{len(chosen)}] {target}", flush=True)
        results.append(tested(target, QUICK if given.quick else FILES))
        print(f"==> {target}: {'; '.join(f'{area} {found}' for area, found in results[-1].areas.items())}", flush=True)
    for result in results:
        print(f"{'passed' if result.passed else 'FAILED'}  {result.target}, {result.seconds:.0f} s")
    if not all(result.passed for result in results):
        return 1
    if len(results) == len(MATRIX):
        write_table(results, tree)
        print(f"==> the table in {PAGE.relative_to(ROOT)} is what passed now")
    return 0


def tested(target: Target, files: Sequence[str]) -> Result:
    """Readies the environment of a target, and runs the core tests there."""
    began_s = time.monotonic()
    python = environment(target)
    report = target.folder / "report.xml"
    report.unlink(missing_ok=True)
    temporary = target.folder / "tests"
    shutil.rmtree(temporary, ignore_errors=True)
    subprocess.run(
        [python, "-m", "pytest", *PYTEST, f"--junitxml={report}", f"--basetemp={temporary}", *files],
        cwd=ROOT,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
        check=False,  # the report tells
    )
    shutil.rmtree(temporary, ignore_errors=True)
    return Result(
        target=target,
        versions=versions_in(python),
        areas=areas_of(report.read_text() if report.exists() else "<testsuites/>", files, lacks=target.lacks),
        seconds=time.monotonic() - began_s,
    )


def environment(target: Target) -> Path:
    """The Python of an environment with this Spark and a wheel of the tree as it is."""
    wheel = wheel_for(target.python)
    python = target.folder / "bin" / "python"
    wanted = "\n".join((target.spark, *target.more, *TEST_TOOLS, *requirements("project", "dependencies")))
    stamp = target.folder / "installed"
    if not stamp.exists() or stamp.read_text() != wanted:
        print(f"    {target.folder.relative_to(ROOT)}: installing PySpark {target.spark}, up to 470 MB", flush=True)
        run([interpreter(target.python), "-m", "venv", "--clear", target.folder])
        pip(python, "install", f"pyspark=={target.spark}.*", *target.more, *TEST_TOOLS, wheel)
        stamp.write_text(wanted)
    pip(python, "install", "--force-reinstall", "--no-deps", wheel)
    return python


_wheels: dict[str, Path] = {}


def wheel_for(version: str) -> Path:
    """A wheel of this tree. Built in a fixed folder, so that only what has changed is compiled."""
    if version in _wheels:
        return _wheels[version]
    builder = BUILD / f"builder-python-{version}"
    python = builder / "bin" / "python"
    if not python.exists():
        run([interpreter(version), "-m", "venv", builder])
        pip(python, "install", "cmake", "ninja", "wheel", *requirements("build-system", "requires"))
    print(f"    building a wheel for Python {version}", flush=True)
    folder = builder / "wheels"
    shutil.rmtree(folder, ignore_errors=True)
    path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"  # cmake and ninja
    build = f"--config-settings=build-dir={builder}/objects"
    run([python, "-m", "pip", "-q", "wheel", "--no-deps", "--no-build-isolation", build, "-w", folder, ROOT], PATH=path)
    [_wheels[version]] = folder.glob("*.whl")
    return _wheels[version]


def interpreter(version: str) -> str:
    """A Python of this version: on the PATH, or one of pyenv's."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for found in (f"python{version}", sys.executable, *sorted(map(str, root.glob(f"{version}.*/bin/python")))):
        asked = [found, "-c", "import ensurepip, sys; print('%d.%d' % sys.version_info[:2])"]
        try:
            if subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip() == version:
                return found
        except OSError:  # there is none of this name
            continue
    message = f"wanted Python {version}, got none on the PATH or in {root}: install it"
    raise SystemExit(message)


def on_a_python_that_is_here(target: Target) -> Target:
    """The target itself, or the like on the Python that runs this."""
    try:
        interpreter(target.python)
    except SystemExit:
        here = f"{sys.version_info.major}.{sys.version_info.minor}"
        return msgspec.structs.replace(target, python=here, more=(*target.more, "setuptools"))
    return target


def requirements(table: str, name: str) -> list[str]:
    """A list of requirements from pyproject.toml."""
    import tomllib

    found: list[str] = tomllib.loads((ROOT / "pyproject.toml").read_text())[table][name]
    return found


def pip(python: Path, *arguments: str | Path) -> None:
    """Runs pip there."""
    run([python, "-m", "pip", "-q", "--disable-pip-version-check", *arguments])


def run(command: Sequence[str | Path], **more: str) -> None:
    """Runs a command that has to succeed."""
    done = subprocess.run(command, cwd=ROOT, env=os.environ | more, check=False)
    if done.returncode:
        message = f"{' '.join(map(str, command))} failed with {done.returncode}"
        raise SystemExit(message)


def versions_in(python: Path) -> dict[str, str]:
    """What an environment has of that which matters."""
    site = next((python.parent.parent / "lib").glob("python*/site-packages"))
    found = {one.metadata["Name"]: one.version for one in importlib.metadata.distributions(path=[str(site)])}
    said = subprocess.run([python, "--version"], capture_output=True, text=True, check=True).stdout
    return {"python": said.split()[1]} | {name: found[name] for name in SHOWN}


def areas_of(report: str, files: Sequence[str], *, lacks: Sequence[str] = ()) -> dict[str, str]:
    """What a report in JUnit's form says of each area that these files are of."""
    outcomes: dict[str, list[tuple[str, str]]] = {}
    for case in ElementTree.fromstring(report).iter("testcase"):
        # A module that is skipped, or fails, as a whole is a case of its name, without a class.
        module = case.get("classname") or case.get("name") or ""
        outcomes.setdefault(module, []).append(_outcome(case))
    return {
        area: _together([one for module in modules for one in outcomes.get(module, [])], lacking=area in lacks)
        for area, modules in AREAS.items()
        if any(_file(module) in files for module in modules)
    }


def _outcome(case: ElementTree.Element) -> tuple[str, str]:
    for kind in ("failure", "error", "skipped"):
        if (found := case.find(kind)) is not None:
            # Of a module that is skipped the reason is at the end of a tuple: (file, line, 'Skipped: ...').
            return kind, (found.text or "").rpartition("Skipped: ")[2].rstrip("')")
    return "passed", ""


def _together(outcomes: list[tuple[str, str]], *, lacking: bool) -> str:
    kinds = {kind for kind, _ in outcomes}
    if kinds != {"skipped" if lacking else "passed"}:
        return "failed"  # or there was no test at all
    return f"no: {outcomes[0][1]}" if lacking else "yes"


def commit() -> str:
    """What is checked out, and whether it was changed since."""
    asked = ["git", "describe", "--always", "--dirty"]
    return subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def write_table(results: Sequence[Result], tree: str) -> None:
    """Puts the table into the page, between its marks."""
    before, begins, rest = PAGE.read_text().partition(BEGIN)
    _, ends, after = rest.partition(END)
    if not (begins and ends):
        message = f"{PAGE}: wanted the lines {BEGIN} and {END}, got a page without"
        raise SystemExit(message)
    PAGE.write_text("\n".join((f"{before}{BEGIN}", *table(results, tree), f"{END}{after}")))


def table(results: Sequence[Result], tree: str) -> Iterator[str]:
    """The table, what was tested and when, and what is not there."""
    head = ["Spark", "Python", *SHOWN[1:], *AREAS]
    yield from ("", f"| {' | '.join(head)} |", f"|{'---|' * len(head)}")
    notes: list[str] = []
    for result in results:
        cells = [result.versions["pyspark"], result.versions["python"], *(result.versions[name] for name in SHOWN[1:])]
        for found in result.areas.values():
            reason = found.removeprefix("no: ")
            if reason != found and reason not in notes:
                notes.append(reason)
            cells.append(found if reason == found else f"no ({notes.index(reason) + 1})")
        yield f"| {' | '.join(cells)} |"
    yield ""
    for number, note in enumerate(notes, 1):
        yield from (f"({number}) {note}.", "")
    today = datetime.datetime.now(datetime.UTC).date()
    yield f"Passed on {today}, at commit {tree}."
    yield ""


if __name__ == "__main__":
    sys.exit(main())
