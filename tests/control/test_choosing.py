"""From a scheduler that the user gave to a choice that can be written down."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from penstock.control.choosing import first_choice, name_of
from penstock.control.load_records import Choice
from penstock.control.scheduling_settings import SchedulingSettings
from penstock.plan.assignment import Assignment
from penstock.plan.schedulers.base import PlanRequest
from penstock.plan.schedulers.even import EvenScheduler
from penstock.plan.schedulers.registry import SCHEDULERS, scheduler
from tests.control.planners import TOGETHER, Together

SETTINGS = SchedulingSettings()


class Plain:
    """Has what a scheduler has, and is no struct."""

    name: ClassVar[str] = "plain"

    def plan(self, request: PlanRequest) -> Assignment:
        return EvenScheduler().plan(request)


class Particular(Plain):
    """Cannot be made from nothing."""

    def __init__(self, how: object) -> None:
        self.how = how


def test_schedulers_are_named_as_users_name_them() -> None:
    assert name_of(EvenScheduler) == "even"
    assert name_of(Together) == TOGETHER


def test_with_even_tasks_stay_and_with_any_other_they_are_planned_for() -> None:
    assert first_choice(EvenScheduler(), SETTINGS) == Choice()
    for name in SCHEDULERS.keys() - {"even"}:
        chosen = first_choice(scheduler(name), SETTINGS)
        assert chosen.scheduler == name
        assert scheduler(name, **chosen.parameters) == scheduler(name)


def test_a_scheduler_of_one_s_own_is_made_again_from_name_and_parameters() -> None:
    assert first_choice(Together(worker=3), SETTINGS) == Choice(scheduler=TOGETHER, parameters={"worker": 3})
    assert first_choice(Plain(), SETTINGS).scheduler == f"{__name__}:Plain"


def test_one_that_cannot_be_made_again_places_the_tasks_only_once(caplog: pytest.LogCaptureFixture) -> None:
    assert first_choice(Particular("so"), SETTINGS) == Choice()
    assert "stay where they are" in caplog.text


def test_where_nobody_is_to_plan_nobody_does() -> None:
    off = SchedulingSettings(scheduling="off")
    assert first_choice(Together(), off) == Choice(settings=off)


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ({"load_every_s": 0}, "load_every_s must be above 0, or None, got 0"),
        ({"load_alpha": 1.0}, "load_alpha must be at least 0 and below 1, got 1.0"),
        ({"gain_threshold": 0}, "gain_threshold must be above 0 and below 1, got 0"),
        ({"capacity_fraction": 1.1}, "capacity_fraction must be above 0 and at most 1, got 1.1"),
        ({"fetch_every_s": -1}, "fetch_every_s must be above 0, got -1"),
        ({"history_s": 0}, "history_s must be above 0, got 0"),
    ],
)
def test_settings_that_make_no_sense(setting: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        SchedulingSettings(**setting)
