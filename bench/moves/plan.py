"""What to measure."""

from typing import Literal

import msgspec

from penstock.devcluster import DevClusterSettings
from penstock.flow.delivery import Delivery

LINES_PER_S = 500.0
WORKERS = 4
BOX = DevClusterSettings(nodes=2, slots_per_node=2)
SMALL, LARGE = 10_000, 1_000_000
DELIVERIES: tuple[Delivery, ...] = ("at_most_once", "at_least_once", "exactly_once")


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of run."""

    place: Literal["local", "box"]
    """Workers of one node, which share memory; or of two, with a link between them."""
    delivery: Delivery
    words: int
    """In the state, from the beginning."""

    @property
    def name(self) -> str:
        """Such as `local, exactly once, 10,000 words`."""
        return f"{self.place}, {self.delivery.replace('_', ' ')}, {self.words:,} words"


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """All there is to measure."""

    cases: tuple[Case, ...]
    rounds: int
    """Stretches without moves in each run; as many with moves, by turns."""
    stretch_s: float
    move_every_s: float
    restarts: int
    """How often the run that is stopped is started again."""
    restarted: tuple[Case, ...]


FULL = Plan(
    cases=(
        *(Case(place="local", delivery=delivery, words=words) for words in (SMALL, LARGE) for delivery in DELIVERIES),
        *(Case(place="box", delivery=delivery, words=SMALL) for delivery in DELIVERIES),
    ),
    rounds=3,
    stretch_s=10.0,
    move_every_s=2.0,
    restarts=3,
    restarted=tuple(Case(place="local", delivery="exactly_once", words=words) for words in (SMALL, LARGE)),
)
QUICK = Plan(
    cases=(Case(place="local", delivery="exactly_once", words=SMALL),),
    rounds=1,
    stretch_s=4.0,
    move_every_s=1.0,
    restarts=1,
    restarted=(Case(place="local", delivery="exactly_once", words=SMALL),),
)
