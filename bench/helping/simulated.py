"""The rows whose bolts wait, in virtual time: what help is worth, and how r is learned."""

from collections.abc import Iterable

import msgspec

from bench.helping.plan import EQUAL, Row
from bench.helping.simulation import SimulatedMoment, Simulation
from penstock.flow.watermarks import Marks
from penstock.worker.settings import WorkerSettings

STEP = WorkerSettings().help_step
"""Δ, as workers have it by default."""
OTHER_STEPS = (0.02, 0.3)
SECONDS = 45.0
# As fast as can be is no rate at which time could be made to pass.
_MOST_PER_S = 1_000.0


class Simulated(msgspec.Struct, frozen=True, kw_only=True):
    """One row, with one Δ."""

    name: str
    step: float
    plain: list[SimulatedMoment]
    helped: list[SimulatedMoment]

    def over_plain(self) -> float:
        """Throughput with help over that without, once r has settled."""
        return (_last(self.helped).done - _settled(self.helped).done) / (
            _last(self.plain).done - _settled(self.plain).done
        )

    def settling(self) -> SimulatedMoment:
        """With help, when r had settled."""
        return _settled(self.helped)

    def settled_helps(self) -> int:
        """How often help was asked for after that."""
        return _last(self.helped).helps - _settled(self.helped).helps

    def settled_stops(self) -> int:
        """How often others were stopped after that."""
        return _last(self.helped).stops - _settled(self.helped).stops

    @property
    def ratio(self) -> float:
        """r, in the end."""
        return _last(self.helped).ratio


def _settled(moments: list[SimulatedMoment]) -> SimulatedMoment:
    """What is learned is learned in the first third."""
    return next(moment for moment in moments if moment.at_s >= moments[-1].at_s / 3)


def _last(moments: list[SimulatedMoment]) -> SimulatedMoment:
    return moments[-1]


def simulate(row: Row, *, step: float = STEP, seconds: float = SECONDS) -> Simulated:
    """One row, with help and without."""
    row = msgspec.structs.replace(row, offered_per_s=min(row.offered_per_s, _MOST_PER_S))
    plain, helped = (
        list(Simulation(row, is_helped=is_helped, marks=Marks(), step=step).run(seconds)) for is_helped in (False, True)
    )
    return Simulated(name=row.name, step=step, plain=plain, helped=helped)


def simulate_all(rows: Iterable[Row]) -> list[Simulated]:
    """Each row that can be simulated; equal capacities with each Δ."""
    simulated = [simulate(row) for row in rows if row.is_simulated]
    return simulated + [simulate(EQUAL, step=step) for step in OTHER_STEPS]
