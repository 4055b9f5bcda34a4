"""The settings of a run, as the user gives them: by name, in one place, whoever they are for."""

from __future__ import annotations

import difflib
import re
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from penstock.control.scheduling_settings import SchedulingSettings
from penstock.control.settings import ControlSettings
from penstock.worker.settings import WorkerSettings

__all__ = ["RunSettings"]


class RunSettings(msgspec.Struct, frozen=True, kw_only=True):
    """All settings of a run, for those whom they concern."""

    control: ControlSettings
    worker: WorkerSettings
    scheduling: SchedulingSettings

    @classmethod
    def of(cls, *, workers: int, min_workers: int | None, given: dict[str, Any]) -> RunSettings:
        """Sorts settings by whom they concern. ValueError names one that nobody knows, or that has a wrong value."""
        control_names = {*ControlSettings.__struct_fields__} - {"workers", "min_workers"}
        worker_names = {*WorkerSettings.__struct_fields__}
        scheduling_names = {*SchedulingSettings.__struct_fields__}
        for name in given.keys() - control_names - worker_names - scheduling_names:
            known = sorted(control_names | worker_names | scheduling_names)
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"there are: {', '.join(known)}"
            message = f"no setting of a run is named {name!r}; {hint}"
            raise ValueError(message)
        control = {"workers": workers, "min_workers": min_workers}
        control |= {name: value for name, value in given.items() if name in control_names}
        worker = {name: value for name, value in given.items() if name in worker_names}
        scheduling = {name: value for name, value in given.items() if name in scheduling_names}
        return cls(
            control=_checked(control, ControlSettings),
            worker=_checked(worker, WorkerSettings),
            scheduling=_checked(scheduling, SchedulingSettings),
        )


_Settings = TypeVar("_Settings", bound=msgspec.Struct)


def _checked(values: dict[str, Any], kind: type[_Settings]) -> _Settings:
    hints = get_type_hints(kind)
    for name, value in values.items():  # msgspec would not say what there is to choose from
        choices = get_args(hints[name])
        if get_origin(hints[name]) is Literal and value not in choices:
            message = f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}"
            raise ValueError(message)
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        raise ValueError(_refusal(str(error), values)) from error


def _refusal(said: str, values: dict[str, Any]) -> str:
    """What msgspec says of a value, with the setting in front and the value at the end."""
    found = re.fullmatch(r"Expected `(.*)`, got `.*` - at `\$\.(\w+)`", said)
    if found is None:
        return f"a setting of the run has a wrong value: {said}"
    wanted, name = found.groups()
    return f"{name} must be of type {wanted}, got {values[name]!r}"
