"""A wheel of each side, in an environment of its own that shares all other packages with this one.

Both sides are built and installed in the same way, so that they differ in nothing but their code: an editable install
is compiled with other settings, and imported by another way, than a wheel.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import venv
from pathlib import Path

from bench.history import History

_LAST_CHARACTERS = 3000


class GateError(Exception):
    """A side cannot be built or measured; says why."""


def build_commit(commit: str, history: History, folder: Path) -> Path:
    """The interpreter that has the wheel of a commit; built once, and kept."""
    home = folder / commit
    marker = home / "ready"
    if not marker.exists():
        with tempfile.TemporaryDirectory(prefix="penstock-gate-") as temporary:
            archive, tree = Path(temporary, "tree.tar"), Path(temporary, "tree")
            history.ask("archive", f"--output={archive}", commit)
            with tarfile.open(archive) as packed:
                # Set, and not given to extractall: Pythons before 3.11.4 know of no filter, and ignore this.
                packed.extraction_filter = getattr(tarfile, "data_filter", None)
                packed.extractall(tree)
            build_tree(tree, home)
        marker.touch()
    return _python(home)


def build_tree(tree: Path, home: Path) -> Path:
    """The interpreter that has the wheel of a tree as it is; only what changed since the last time is compiled."""
    wheels = home / "wheel"
    shutil.rmtree(wheels, ignore_errors=True)
    _pip(
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        f"--wheel-dir={wheels}",
        f"--config-settings=build-dir={home / 'build'}",
        str(tree),
    )
    environment = home / "env"
    shutil.rmtree(environment, ignore_errors=True)
    venv.create(environment, symlinks=True)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(environment), "platbase": str(environment)}))
    # A line of a .pth file goes to the end of the path, and the .pth files in there are not read: what is installed
    # there as editable stays out.
    (packages / "shared.pth").write_text(sysconfig.get_path("purelib") + "\n")
    _pip("install", "--no-deps", "--no-index", f"--target={packages}", *map(str, wheels.glob("*.whl")))
    return _python(home)


def _python(home: Path) -> Path:
    return home / "env" / "bin" / "python"


def _pip(*arguments: str) -> None:
    tools = Path(sys.executable).parent  # where cmake and ninja are
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments],
        env={**os.environ, "PATH": f"{tools}:{os.environ.get('PATH', '')}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        message = f"pip {' '.join(arguments)} failed:\n{done.stdout[-_LAST_CHARACTERS:]}"
        raise GateError(message)
