"""Schedulers by name, as users write them: `scheduler("even")`."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from penstock.plan.schedulers.base import Scheduler
from penstock.plan.schedulers.even import EvenScheduler

__all__ = ["SCHEDULERS", "scheduler"]

SCHEDULERS: Mapping[str, type[Scheduler]] = MappingProxyType({known.name: known for known in (EvenScheduler,)})


def scheduler(name: str, **params: Any) -> Scheduler:
    """The scheduler of that name with these parameters; ValueError says which name or parameter is wrong."""
    if name not in SCHEDULERS:
        message = f"no scheduler is named {name!r}; there are: {', '.join(sorted(SCHEDULERS))}"
        raise ValueError(message)
    try:
        return msgspec.convert(params, SCHEDULERS[name])
    except msgspec.ValidationError as error:
        known = ", ".join(inspect.signature(SCHEDULERS[name]).parameters) or "none"
        message = f"scheduler {name!r} does not take {params}: {error}; its parameters are: {known}"
        raise ValueError(message) from error
