"""What one can do about how the tasks of a run are placed, from the handle."""

from __future__ import annotations

from penstock.control.choosing import name_of
from penstock.control.scheduling import Scalar
from penstock.control.server import ControlServer
from penstock.plan.schedulers.base import Scheduler
from penstock.plan.schedulers.registry import scheduler as scheduler_named

__all__ = ["Schedulable"]


class Schedulable:
    """The part of a `Run` that changes who plans for it, and how, while it goes on."""

    _server: ControlServer

    def use_scheduler(self, scheduler: str | type[Scheduler], **parameters: Scalar) -> None:
        """Places the tasks by another scheduler from now on, or by the same with other parameters.

        If it would place them so much better that it is worth the moves, they move while the run goes on.

        Args:
            scheduler: a name such as ``"t-storm"``, or ``"package.module:Class"``, or that class.
            parameters: of the scheduler, such as ``gamma=1.7``; the others are as by default.

        Raises:
            ValueError: there is no such scheduler, or no such parameter. Nothing has changed then.
        """
        name = scheduler if isinstance(scheduler, str) else name_of(scheduler)
        scheduler_named(name, **parameters)
        self._server.use_scheduler(name, parameters)

    def tune_scheduling(self, **settings: Scalar) -> None:
        """Changes settings of online scheduling, such as ``load_alpha=0.3``: any of `SchedulingSettings` by name.

        Raises:
            RunError: there is no such setting, or it has a wrong value. Nothing has changed then.
        """
        self._server.tune_scheduling(settings)
