"""Schedulers by name, as users write them: `scheduler("t-storm", gamma=1.7)`, `scheduler("my.module:Mine")`."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, cast

import msgspec

from penstock.plan.schedulers.base import Scheduler
from penstock.plan.schedulers.even import EvenScheduler
from penstock.plan.schedulers.optimal import OptimalScheduler
from penstock.plan.schedulers.penstock import PenstockScheduler
from penstock.plan.schedulers.t_storm import TStormScheduler
from penstock.plan.schedulers.turbo import TurboScheduler

__all__ = ["SCHEDULERS", "scheduler"]

SCHEDULERS: Mapping[str, type[Scheduler]] = MappingProxyType(
    {
        known.name: known
        for known in (EvenScheduler, TStormScheduler, TurboScheduler, PenstockScheduler, OptimalScheduler)
    }
)


def scheduler(name: str, **params: Any) -> Scheduler:
    """The scheduler of that name with these parameters; ValueError says which name or parameter is wrong.

    A name with a colon is that of a class of the user's own, `package.module:Class`.
    """
    if ":" in name:
        return _of_class(name, _imported(name), params)
    if name not in SCHEDULERS:
        known = ", ".join(sorted(SCHEDULERS))
        message = f"no scheduler is named {name!r}; there are: {known}, and your own as 'package.module:Class'"
        raise ValueError(message)
    return _of_class(name, SCHEDULERS[name], params)


def _imported(name: str) -> type[Scheduler]:
    module_name, _, class_name = name.partition(":")
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # the user's module may fail in any way while it is imported
        message = f"scheduler {name!r}: module {module_name!r} cannot be imported: {type(error).__name__}: {error}"
        raise ValueError(message) from error
    found = getattr(module, class_name, None)
    if not inspect.isclass(found):
        got = "nothing of that name" if found is None else type(found).__name__
        message = f"scheduler {name!r}: module {module_name!r} has no such class: got {got}"
        raise ValueError(message)
    if not callable(getattr(found, "plan", None)):
        message = f"scheduler {name!r}: the class has no method plan(request), which returns an Assignment"
        raise ValueError(message)
    if not isinstance(getattr(found, "name", None), str):
        message = (
            f"scheduler {name!r}: the class has no name: write `name: ClassVar[str] = {class_name.lower()!r}` in it"
        )
        raise ValueError(message)
    return cast(type[Scheduler], found)


def _of_class(name: str, kind: type[Scheduler], params: dict[str, Any]) -> Scheduler:
    try:
        # A struct checks the types of its fields, and what its `__post_init__` refuses is named as well.
        return msgspec.convert(params, kind) if issubclass(kind, msgspec.Struct) else kind(**params)
    except (msgspec.ValidationError, TypeError, ValueError) as error:
        known = ", ".join(inspect.signature(kind).parameters) or "none"
        message = f"scheduler {name!r} does not take {params}: {error}; its parameters are: {known}"
        raise ValueError(message) from error
