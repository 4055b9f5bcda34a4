"""Which code travels with a topology: what the user wrote and did not install.

cloudpickle sends functions and classes of ``__main__`` whole, and those of modules by name, to be imported there. A
user's script may well import a second file that lies next to it and is on no worker: such modules are sent whole too.
What is installed is taken to be installed on the workers, in the same version.
"""

from __future__ import annotations

import contextlib
import site
import sys
import sysconfig
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

import cloudpickle

__all__ = ["travelling_code"]

# On every worker by other means: ourselves, and what Spark brings.
_ALWAYS_THERE = frozenset({__name__.partition(".")[0], "pyspark", "py4j"})

_registry_lock = threading.Lock()


@contextlib.contextmanager
def travelling_code() -> Iterator[None]:
    """Has cloudpickle send whole modules that workers cannot import, as long as it lasts."""
    with _registry_lock:  # cloudpickle's list is one for the whole process
        known = cloudpickle.list_registry_pickle_by_value()
        modules = [module for name, module in list(sys.modules.items()) if name not in known and _travels(name, module)]
        for module in modules:
            cloudpickle.register_pickle_by_value(module)
        try:
            yield
        finally:
            for module in modules:
                cloudpickle.unregister_pickle_by_value(module)


def _travels(name: str, module: ModuleType) -> bool:
    file = getattr(module, "__file__", None)
    if not isinstance(file, str) or not file.endswith(".py") or name != getattr(module, "__name__", None):
        return False
    package = name.partition(".")[0]
    if package in _ALWAYS_THERE or name == "__main__" or file.startswith(_installed_roots()):
        return False
    return package not in _packages_of_distributions()


@cache
def _installed_roots() -> tuple[str, ...]:
    places = [*sysconfig.get_paths().values(), *site.getsitepackages(), site.getusersitepackages()]
    # The data and scripts paths are no places of modules, and as wide as the whole prefix.
    wide = {sysconfig.get_path("data"), sysconfig.get_path("scripts")}
    return tuple(f"{Path(place)}/" for place in places if place not in wide)


@cache
def _packages_of_distributions() -> frozenset[str]:
    """Also those that are installed to be edited, whose files lie anywhere."""
    import importlib.metadata  # workers ship nothing, and need it not

    return frozenset(importlib.metadata.packages_distributions())
