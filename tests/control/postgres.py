"""A PostgreSQL server of the tests' own, on a socket in a folder: where the programs for one are installed."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

# Debian keeps the programs of a server out of the way; and not every PATH has those of root.
_PLACES = os.pathsep.join(
    [os.environ.get("PATH", ""), "/usr/sbin", "/sbin", *map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin")))]
)
_PATIENCE_S = 300


def _as_its_owner(folder: Path) -> list[str]:
    """The beginning of commands on a server in that folder: it refuses to be root."""
    if os.geteuid() != 0:
        return []
    nobody = pwd.getpwnam("nobody")
    os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    return [shutil.which("runuser", path=_PLACES) or "runuser", "-u", "nobody", "--"]


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of a database that nobody else uses. Skips if there is no PostgreSQL on this machine."""
    initdb, pg_ctl = (shutil.which(name, path=_PLACES) for name in ("initdb", "pg_ctl"))
    if initdb is None or pg_ctl is None:
        pytest.skip("there is no PostgreSQL server on this machine (initdb and pg_ctl are not to be found)")
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    folder = Path(tempfile.mkdtemp(prefix="penstock-postgres-"))
    try:
        owner = _as_its_owner(folder)
        data = folder / "data"

        def do(*command: str) -> None:
            subprocess.run([*owner, *command], check=True, cwd=folder, stdout=subprocess.DEVNULL, timeout=_PATIENCE_S)

        do(initdb, "-D", str(data), "-A", "trust", "-U", "penstock", "--no-sync", "-E", "UTF8", "--locale", "C")
        options = f"-c listen_addresses= -k {folder} -c fsync=off"
        do(pg_ctl, "-D", str(data), "-w", "-t", str(_PATIENCE_S), "-l", str(folder / "log"), "-o", options, "start")
        try:
            yield f"postgresql://penstock@/postgres?host={folder}"
        finally:
            do(pg_ctl, "-D", str(data), "-w", "-t", str(_PATIENCE_S), "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder)
