"""From FILE[:name] to a topology."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType

from penstock.cli.arguments import keyword_arguments
from penstock.errors import PenstockError, TopologyError
from penstock.topology.topology import Topology

__all__ = ["load_topology"]


def load_topology(target: str, settings: Mapping[str, str]) -> Topology:
    """The topology that `target` names: FILE, or FILE:name where the file has several.

    A name is a Topology, or a function that returns one; `settings` are given to the function by keyword, each
    converted to the type of its parameter.
    """
    file, name = _split(target)
    path = Path(file).resolve()
    module = _load(file, path)
    found = getattr(module, name, None) if name else _only_one(module, file)
    if found is None:
        message = f"{file} has no {name!r}; {_offer(module)}"
        raise TopologyError(message)
    if isinstance(found, Topology):
        if settings:
            message = f"--set needs a function that makes the topology; {target} is a ready one"
            raise TopologyError(message)
        return found
    if not callable(found):
        message = f"{target} must be a Topology or a function that returns one, got {type(found).__name__}"
        raise TopologyError(message)
    arguments = keyword_arguments(found, settings, target)
    with _blamed(path, f"{target} could not make its topology"):
        made = found(**arguments)
    if not isinstance(made, Topology):
        message = f"{target} must return a Topology, and returned {type(made).__name__}"
        raise TopologyError(message)
    return made


def _split(target: str) -> tuple[str, str]:
    """FILE and name. A colon that no name follows belongs to the file."""
    file, _, name = target.rpartition(":")
    return (file, name) if file and name.isidentifier() else (target, "")


def _load(file: str, path: Path) -> ModuleType:
    if not path.is_file():
        message = f"{file} is a folder: a Python file is wanted" if path.is_dir() else f"no such file: {file}"
        raise TopologyError(message)
    if path.suffix != ".py":
        message = f"{file} must be a Python file, whose name ends with .py"
        raise TopologyError(message)
    # Under its own name and with its folder on the path, as `python FILE` would have it, so that it finds its
    # neighbours; not as __main__, so that it does not start by itself.
    name = path.stem
    taken = sys.modules.get(name)
    if taken is not None and getattr(taken, "__file__", None) != str(path):
        message = f"{file} cannot be loaded as {name!r}, which is a module already ({_place(taken)}): rename the file"
        raise TopologyError(message)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    sys.modules[name] = module
    try:
        with _blamed(path, f"{file} could not be loaded"):
            spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _place(module: ModuleType) -> str:
    return getattr(module, "__file__", None) or "built in"


@contextlib.contextmanager
def _blamed(path: Path, what: str) -> Iterator[None]:
    """Tells what the user's code raises as such, with the part of the traceback that is theirs."""
    try:
        yield
    except PenstockError:  # says it all
        raise
    except SystemExit as error:
        message = f"{what}: it ended the program (exit code {error.code}); put that under if __name__ == '__main__'"
        raise TopologyError(message) from error
    except Exception as error:
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename != str(path):
            trace = trace.tb_next
        text = "".join(traceback.format_exception(type(error), error, trace)).rstrip()
        message = f"{what}:\n{text}"
        raise TopologyError(message) from error


def _topologies(module: ModuleType) -> dict[str, Topology]:
    """The topologies of a file by name; one that has two names, by the first."""
    found: dict[str, Topology] = {}
    for name, value in vars(module).items():
        if isinstance(value, Topology) and not any(value is known for known in found.values()):
            found[name] = value
    return found


def _offer(module: ModuleType) -> str:
    return f"its topologies: {', '.join(map(repr, _topologies(module))) or 'none'}"


def _only_one(module: ModuleType, file: str) -> object:
    if callable(getattr(module, "topology", None)):
        return module.topology
    found = _topologies(module)
    if len(found) != 1:
        hint = ": say which, as FILE:name" if found else ""
        message = f"{file} must have one Topology or a function topology(); {_offer(module)}{hint}"
        raise TopologyError(message)
    return next(iter(found.values()))
