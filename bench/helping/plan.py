"""What to measure: rows, and the sides that are compared in each."""

import os
from typing import Any

import msgspec

from bench.helping.pressure import NO_REDIRECTION

CORES = len(os.sched_getaffinity(0))

# Of what a row can do at most, with help. At that very rate queues would wander, and full they would stay.
_OFFERED_SHARE = 0.97
_AS_FAST_AS_CAN_BE = 1e6

# Table 1 of the paper: tuples per millisecond of a compute and of an exclam1 bolt.
COMPUTE_PER_MS, EXCLAM1_PER_MS = 113.76, 146.58


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One way to run a row."""

    name: str
    bolt: dict[str, Any] = {}
    """Given to every bolt."""
    settings: dict[str, Any] = {}
    """Given to the run."""

    def __str__(self) -> str:
        return self.name


PLAIN = Side(name="plain backpressure", bolt={"helping": False}, settings=NO_REDIRECTION)
HELPING = Side(name="helping", settings=NO_REDIRECTION)
REDIRECTION = Side(name="helping and redirection")


class Phase(msgspec.Struct, frozen=True, kw_only=True):
    """How long bolts take for a tuple."""

    compute_ms: float = 0.0
    exclam1_ms: float = 0.0
    exclam2_ms: float = 0.0

    def by_name(self) -> dict[str, float]:
        """As the dial wants it."""
        return {name.removesuffix("_ms"): float(getattr(self, name)) for name in self.__struct_fields__}

    def plain_per_s(self, computes: int) -> float:
        """What can pass if each does its own work: what the slowest stage can do."""
        slowest_ms = max(self.compute_ms / computes, self.exclam1_ms, self.exclam2_ms)
        return 1000 / slowest_ms if slowest_ms else _AS_FAST_AS_CAN_BE

    def helped_per_s(self, computes: int) -> float:
        """What can pass if compute does just as much of exclam1's work that both are busy all the time."""
        exclam1_is_slower = self.exclam1_ms > self.compute_ms / computes
        shared_ms = (self.compute_ms + self.exclam1_ms) / (computes + 1)
        return 1000 / shared_ms if exclam1_is_slower and shared_ms else self.plain_per_s(computes)


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of load."""

    name: str
    phases: tuple[Phase, ...]
    offered_per_s: float
    sides: tuple[Side, ...] = (PLAIN, HELPING)
    """What others are compared with is first."""
    computes: int = 2
    is_cpu_bound: bool = False
    settle_s: float = 20.0
    """Until r, and queues, are what they are going to be."""
    window_s: float = 10.0
    """What is measured; whole turns of all phases."""
    rounds: int = 3
    is_simulated: bool = True
    """Whether it is looked at in virtual time, too, where nothing but service times counts."""
    note: str = ""

    def __str__(self) -> str:
        return self.name

    @property
    def most(self) -> float | None:
        """How many times as much can pass at most, if compute helps exclam1; None where that is not the question."""
        if len(self.phases) > 1 or not any(self.phases[0].by_name().values()):
            return None
        plain = min(self.offered_per_s, self.phases[0].plain_per_s(self.computes))
        return min(self.offered_per_s, self.phases[0].helped_per_s(self.computes)) / plain

    @property
    def workers(self) -> int:
        """One for each task, the sink aside."""
        return self.computes + 3


_EQUAL = Phase(compute_ms=4.0, exclam1_ms=4.0)
_TABLE_1 = Phase(compute_ms=4.0 * EXCLAM1_PER_MS / COMPUTE_PER_MS, exclam1_ms=4.0)
# With k tasks of compute and one of exclam1, as many as there are cores.
_CPU_COMPUTES = max(1, CORES - 1)
_CPU = Phase(compute_ms=0.5 * _CPU_COMPUTES, exclam1_ms=2.0)

EQUAL = Row(
    name="equal capacities",
    phases=(_EQUAL,),
    offered_per_s=_OFFERED_SHARE * _EQUAL.helped_per_s(2),
    note="section 3 with M = 2, N = 1",
)
FLOODED = Row(
    name="equal capacities, endless input",
    phases=(_EQUAL,),
    offered_per_s=_AS_FAST_AS_CAN_BE,
    note="somebody has to stop the spout; that does a part of compute's work meanwhile",
)
TABLE_1 = Row(
    name="capacities as in Table 1",
    phases=(_TABLE_1,),
    offered_per_s=_OFFERED_SHARE * _TABLE_1.helped_per_s(2),
    note="in the paper help costs less than half of exclam1's own work, here as much: less can be gained",
)
CPU = Row(
    name=f"CPU-bound on {_CPU_COMPUTES + 1} cores",
    phases=(_CPU,),
    offered_per_s=_OFFERED_SHARE * _CPU.helped_per_s(_CPU_COMPUTES),
    computes=_CPU_COMPUTES,
    is_cpu_bound=True,
    is_simulated=False,
    note="spout, sink and the driver want the same cores",
)
SHIFTING = Row(
    name="shifting load",
    phases=(_EQUAL, Phase(compute_ms=8.0, exclam1_ms=1.0), Phase(compute_ms=1.0, exclam1_ms=1.0)),
    offered_per_s=_OFFERED_SHARE * _EQUAL.helped_per_s(2),
    settle_s=15.0,
    window_s=30.0,
    note="exclam1 is slow, then compute, then none, five seconds each",
)
BUSY = Row(
    name="nobody upstream has time",
    phases=(Phase(exclam1_ms=3.6, exclam2_ms=6.0),),
    offered_per_s=250.0,
    sides=(PLAIN, HELPING, REDIRECTION),
    is_simulated=False,
    note="exclam2 is slow and exclam1 busy; compute's workers have time",
)
LIGHT = Row(
    name="light bolts, endless input",
    phases=(Phase(),),
    offered_per_s=_AS_FAST_AS_CAN_BE,
    sides=(PLAIN, HELPING, REDIRECTION),
    settle_s=5.0,
    window_s=6.0,
    rounds=5,
    is_simulated=False,
)
CALM = Row(
    name="no pressure",
    phases=(Phase(compute_ms=1.0, exclam1_ms=1.0),),
    offered_per_s=300.0,
    sides=(PLAIN, HELPING, REDIRECTION),
    settle_s=4.0,
    window_s=6.0,
    rounds=5,
    is_simulated=False,
    note="a third of what can pass",
)

FULL = (EQUAL, FLOODED, TABLE_1, CPU, SHIFTING, BUSY, LIGHT, CALM)
QUICK = (msgspec.structs.replace(EQUAL, settle_s=8.0, window_s=4.0, rounds=1),)
