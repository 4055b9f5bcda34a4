"""Java, which an embedded Spark runs on: whether there is one that will do."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from penstock.errors import StartError

__all__ = ["require_java"]

# Spark 4 asks for this module by name. Trimmed runtimes leave it out, and then the JVM does not start.
_MODULE = "jdk.incubator.vector"
_MODULE_SINCE = 17
_PATIENCE_S = 60.0
_REMEDY = "install a full JDK (on Debian: sudo apt-get install default-jre-headless) or point JAVA_HOME to one"


def require_java() -> None:
    """Returns if Spark can start here; else StartError says in one sentence what to do."""
    from penstock.spark.spark_version import oldest_java

    oldest, java = oldest_java(), _java()
    if java is None:
        message = f"Spark needs Java {oldest} or newer, and there is no java on the PATH: {_REMEDY}"
        raise StartError(message)
    version = _version(java)
    if version is None:
        message = f"Spark needs Java {oldest} or newer, and {java} does not tell its version: {_REMEDY}"
        raise StartError(message)
    if version < oldest:
        message = f"Spark needs Java {oldest} or newer, and {java} is Java {version}: {_REMEDY}"
        raise StartError(message)
    if oldest >= _MODULE_SINCE and _version(java, f"--add-modules={_MODULE}") is None:
        message = f"Spark needs Java's module {_MODULE}, and {java} (Java {version}) comes without it: {_REMEDY}"
        raise StartError(message)


def _java() -> str | None:
    """The java that Spark's own scripts would take."""
    home = os.environ.get("JAVA_HOME")
    return str(Path(home, "bin", "java")) if home else shutil.which("java")


def _version(java: str, *options: str) -> int | None:
    """The feature number of a java that starts with these options, such as 17; None if it does not start."""
    try:
        asked = subprocess.run(
            [java, *options, "-version"], capture_output=True, text=True, check=False, timeout=_PATIENCE_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', asked.stderr)  # Java 8 calls itself 1.8
    return int(found[1]) if found and asked.returncode == 0 else None
