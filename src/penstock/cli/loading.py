"""From FILE[:name] to a topology."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from pathlib import Path
from types import ModuleType

from penstock.errors import TopologyError
from penstock.topology.topology import Topology

__all__ = ["load_topology"]


def load_topology(target: str, settings: dict[str, str]) -> Topology:
    """The topology that `target` names: FILE, or FILE:name where the file has several.

    A name is a Topology, or a function that returns one; `settings` are given to the function by keyword, each
    converted to the type of its parameter.
    """
    path_text, _, name = target.partition(":")
    module = _load(Path(path_text))
    found = getattr(module, name, None) if name else _only_one(module, path_text)
    if found is None:
        message = f"{path_text} has no {name!r}; it has {_candidates(module) or 'no topology at all'}"
        raise TopologyError(message)
    if isinstance(found, Topology):
        if settings:
            message = f"--set needs a function that makes the topology; {target} is a ready one"
            raise TopologyError(message)
        return found
    made = found(**_arguments(found, settings, target)) if callable(found) else None
    if not isinstance(made, Topology):
        message = f"{target} must be a Topology or a function that returns one, got {type(made or found).__name__}"
        raise TopologyError(message)
    return made


def _load(path: Path) -> ModuleType:
    if not path.is_file():
        message = f"no such file: {path}"
        raise TopologyError(message)
    # Under its own name and with its folder on the path, as `python FILE` would have it, so that it finds its
    # neighbours; not as __main__, so that it does not start by itself.
    sys.path.insert(0, str(path.resolve().parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _candidates(module: ModuleType) -> list[str]:
    return [name for name, value in vars(module).items() if isinstance(value, Topology)]


def _only_one(module: ModuleType, path: str) -> object:
    if callable(getattr(module, "topology", None)):
        return module.topology
    names = _candidates(module)
    if len(names) != 1:
        message = f"{path} must have one Topology or a function topology(); it has {names or 'neither'}: use FILE:name"
        raise TopologyError(message)
    return getattr(module, names[0])


def _arguments(function: object, settings: dict[str, str], target: str) -> dict[str, object]:
    assert callable(function)
    parameters = inspect.signature(function, eval_str=True).parameters
    arguments: dict[str, object] = {}
    for name, text in settings.items():
        if name not in parameters:
            message = f"{target} takes no {name!r}; it takes {list(parameters) or 'nothing'}"
            raise TopologyError(message)
        kind = parameters[name].annotation
        try:
            arguments[name] = kind(text) if kind in (int, float, str) else text
        except ValueError:
            message = f"--set {name}={text}: wanted {kind.__name__}"
            raise TopologyError(message) from None
    return arguments
