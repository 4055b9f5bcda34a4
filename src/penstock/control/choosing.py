"""From a scheduler that the user gave to a choice that can be written down, and read elsewhere."""

from __future__ import annotations

import logging
from typing import Any

import msgspec

from penstock.control.load_records import Choice
from penstock.control.scheduling_settings import SchedulingSettings
from penstock.plan.schedulers.base import Scheduler
from penstock.plan.schedulers.even import EvenScheduler
from penstock.plan.schedulers.registry import SCHEDULERS, scheduler

__all__ = ["first_choice", "name_of"]

log = logging.getLogger(__name__)


def name_of(kind: type[Scheduler]) -> str:
    """How others find a class of schedulers: by its name, or as `module:Class`."""
    if SCHEDULERS.get(kind.name) is kind:
        return kind.name
    return f"{kind.__module__}:{kind.__qualname__}"


def first_choice(given: Scheduler, settings: SchedulingSettings) -> Choice:
    """What a run is planned by while it goes on, if it is started with this scheduler.

    `even` looks at nothing that is measured: with it, and where nobody is to plan, tasks stay where they are until
    another one is chosen. So they do with a scheduler that cannot be made again from a name and parameters.
    """
    if settings.scheduling == "off" or isinstance(given, EvenScheduler):
        return Choice(settings=settings)
    name = name_of(type(given))
    parameters: dict[str, Any] = {}
    try:
        if isinstance(given, msgspec.Struct):
            parameters = msgspec.json.decode(msgspec.json.encode(given))  # as they are when somebody has read them
        again = scheduler(name, **parameters)
    except (ValueError, TypeError) as error:
        log.warning("tasks are placed by %r at the start, and then stay where they are: %s", name, error)
        return Choice(settings=settings)
    if isinstance(given, msgspec.Struct) and again != given:
        log.warning("tasks are placed by %r at the start, and then stay: it cannot be made again elsewhere", name)
        return Choice(settings=settings)
    return Choice(scheduler=name, parameters=parameters, settings=settings)
