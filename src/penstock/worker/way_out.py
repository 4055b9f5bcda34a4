"""What the carriers of one worker have in common: by which policy their frames leave, and to whom they give way."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from penstock.flow.backlog import OutgoingPolicy, policy_of
from penstock.flow.giving_way import GivingWay
from penstock.flow.ledger import AckBook
from penstock.flow.runs import Runs
from penstock.transport.board import MOST_OPERATORS, BoardSlot
from penstock.transport.frames import FrameKind
from penstock.transport.ring import Route
from penstock.worker.waiting_frames import ByTask, InOneLine, WaitingFrames

if TYPE_CHECKING:
    from penstock.worker.carriers import Carrier

__all__ = ["Leaving", "WayOut"]

LOOK_EVERY_NS = 1_000_000


class Leaving(Protocol):
    """A carrier, as the board sees it."""

    @property
    def leaves_node(self) -> bool:
        """Whether it leads to another node. Then it shares the way out with those of other workers."""

    @property
    def slot(self) -> BoardSlot | None:
        """The slot of the worker that it leads to, if that is on this node."""

    @property
    def waiting(self) -> WaitingFrames:
        """What it keeps."""


class WayOut:
    """One worker's.

    Args:
        policy: who goes next.
        interval_ns: how long, and how long others wait.
        operators: for each edge, the number of the operator that sends on it. Without those on which one source speaks
            for others: what is sent on these leaves in order.
        book: where the trees of tuples are counted; None where they are not.
        steady_ns: a clock that never goes back; where there is a board, the machine's.
        slot: where this worker says what it has; None without a board.
    """

    def __init__(
        self,
        *,
        policy: OutgoingPolicy,
        interval_ns: int,
        operators: Mapping[int, int],
        book: AckBook | None,
        steady_ns: Callable[[], int],
        slot: BoardSlot | None = None,
    ) -> None:
        self._policy = policy
        self._interval_ns = interval_ns
        self._operators = operators
        self._book = book
        self._steady_ns = steady_ns
        self._slot = slot
        self.congested: dict[Carrier, None] = {}
        """The carriers that keep frames because these cannot leave now, in the order in which that began."""
        self._has_told = False
        """Whether others of the node still read that something waits here."""
        self._giving: dict[int, GivingWay] = {}
        self._look_at_ns = 0
        self.held: Collection[int] = ()
        """The operators whose tuples do not leave the node now, because another worker has more of them."""

    def waiting_frames(self) -> WaitingFrames:
        """What one carrier keeps its frames in."""
        if self._policy == "fifo":
            return InOneLine()
        return ByTask(
            place_of=self._place_of,
            policy=lambda: policy_of(self._policy, interval_ns=self._interval_ns),
            recount=self._recount,
            steady_ns=self._steady_ns,
        )

    def _recount(self, runs: Runs, old: int, new: int) -> None:
        if self._book is not None:
            self._book.processed(runs, old)
            self._book.sent(runs, new)

    def _place_of(self, route: Route) -> tuple[int, int]:
        edge = route.stream
        operator = self._operators.get(edge)
        if operator is None or route.flags in (FrameKind.CAST, FrameKind.TREE):
            return ~edge, 0
        return operator, route.source

    @property
    def is_at_work(self) -> bool:
        """Whether there is anything to do here: only then is it asked."""
        return bool(self.congested) or self._has_told

    def pump(self, carriers: Iterable[Leaving]) -> int:
        """Sends what can leave now of what was kept; returns how many frames. For turns in which it `is_at_work`."""
        self.look(carriers)
        return sum(carrier.pump(self.held) for carrier in [*self.congested])

    def look(self, carriers: Iterable[Leaving]) -> None:
        """Tells the others of the node what waits here, and finds out who has more."""
        if self._slot is None or self._policy != "lbf":
            self._has_told = False
            return
        now_ns = self._steady_ns()
        if now_ns < self._look_at_ns:
            return
        self._look_at_ns = now_ns + LOOK_EVERY_NS
        own = [0] * MOST_OPERATORS
        slots = []
        for carrier in carriers:
            if carrier.leaves_node:
                for operator, tuples in carrier.waiting.backlogs():
                    if 0 <= operator < MOST_OPERATORS:
                        own[operator] = max(own[operator], tuples)
            elif (slot := carrier.slot) is not None:
                slots.append(slot)
        self._slot.write(own, now_ns)
        self._has_told = any(own)
        self.held = self._held(own, slots, now_ns) if self._has_told else ()

    def _held(self, own: Sequence[int], slots: Iterable[BoardSlot], now_ns: int) -> set[int]:
        others = [0] * MOST_OPERATORS
        for slot in slots:
            for operator, tuples in enumerate(slot.read(now_ns)):
                others[operator] = max(others[operator], tuples)
        return {
            operator
            for operator, tuples in enumerate(own)
            if tuples and not self._giving_of(operator).may_go(tuples, others[operator], now_ns)
        }

    def _giving_of(self, operator: int) -> GivingWay:
        return self._giving.setdefault(operator, GivingWay(self._interval_ns))

    def close(self) -> None:
        """Lets go of the board."""
        if self._slot is not None:
            self._slot.close()
