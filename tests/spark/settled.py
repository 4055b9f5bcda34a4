"""A session that has settings and nothing else."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any


class SettledSession:
    """Looks like a classic session to whoever only reads settings."""

    def __init__(self, settings: dict[str, str], *, cores: int = 8, python: str = "python3") -> None:
        self.conf = SimpleNamespace(get=settings.get)
        started_with = SimpleNamespace(get=settings.get)
        self.sparkContext = SimpleNamespace(defaultParallelism=cores, getConf=lambda: started_with, pythonExec=python)


def settled(master: str, *, cores: int = 8, python: str = "python3", **settings: str) -> Any:
    """A session on a master, whose executors run that Python. Settings have no `spark.`, and _ for a dot."""
    given = {f"spark.{name.replace('_', '.')}": value for name, value in settings.items()}
    return SettledSession(
        {"spark.master": master, "spark.app.id": f"app-of-{master}"} | given, cores=cores, python=python
    )
