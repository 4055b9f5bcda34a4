"""Lending, in a worker: pieces of its tasks' queues go to workers with time to spare, and what came of them comes back.

The task emits what came of a piece in its own name, as if it had worked on it itself; see flow/lending for the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from penstock._native import Record
from penstock.flow.credit import Channel
from penstock.flow.lending import Lender
from penstock.transport.frames import FrameKind
from penstock.transport.ring import Route
from penstock.transport.values import UNENCODABLE
from penstock.worker.arrival import Arrival
from penstock.worker.bolt_task import PIECE_NS, BoltTask
from penstock.worker.early_frames import EarlyFrame
from penstock.worker.lanes import MOST_FRAME_BYTES
from penstock.worker.loan_frames import decode_offer, decode_repaid, encode_loan
from penstock.worker.roster import Roster
from penstock.worker.wiring import Wiring

__all__ = ["Lending"]

AHEAD_NS = 8 * PIECE_NS
"""What a borrower is given to go on with, while this worker may be busy for a turn: two pieces at least."""

LATE_AFTER_NS = 250_000_000
"""A job is given this long, and ten times what the lender would take for it."""


class Lending:
    """What one worker lends.

    Args:
        wiring: the ways to the others, and where each task is.
        roster: its tasks.
        edges: those whose tuples may be worked on anywhere.
        steady_ns: the time.
        random_number: gives random 64-bit numbers.
    """

    def __init__(
        self,
        *,
        wiring: Wiring,
        roster: Roster,
        edges: Collection[int],
        steady_ns: Callable[[], int],
        random_number: Callable[[], int],
    ) -> None:
        self._company = wiring.company
        self._roster = roster
        self._places = wiring.places
        self._carriers = wiring.carriers
        self._edges = edges
        self._steady_ns = steady_ns
        self._random_number = random_number
        self._lender = Lender()
        self._pieces: dict[int, tuple[BoltTask, Arrival]] = {}
        """What is lent, by the job."""
        self._assignment = self._places.assignment
        self.repaid_tuples = 0
        """How many tuples others have worked on."""

    @property
    def is_called(self) -> bool:
        """Whether any task here wants others' time."""
        return bool(self._lender.called)

    def call(self, task: int) -> None:
        """A task cannot do all that it has to: whoever has time may do a part of it."""
        self._lender.call(task)

    def recall(self, task: int) -> None:
        """It can again: what is still lent it does itself."""
        self._take_back(self._lender.recall(task))

    def lost(self, peer: int) -> None:
        """A worker is gone: what it had is done here."""
        self._take_back(self._lender.lost(peer))

    def offered(self, record: Record | EarlyFrame) -> None:
        """Takes a frame of OFFER. Raises one of `UNREADABLE`."""
        room = decode_offer(record.payload)
        if record.assignment == self._places.assignment and record.source in self._carriers:
            self._lender.offered(record.source, room)

    def repaid(self, record: Record | EarlyFrame) -> None:
        """Takes a frame of REPAID. Raises one of `UNREADABLE`."""
        job, room, answers = decode_repaid(record.payload)
        self._look_at_assignment()
        piece = self._pieces.get(job)
        if piece is not None and len(answers) != len(piece[1]):
            message = f"what came of {len(piece[1])} tuples is told of {len(answers)}"
            raise ValueError(message)
        was_of_use = any(answer is not None for answer in answers)
        # Who could do nothing of it is asked again, now and then: perhaps the next piece is another matter.
        if self._lender.repaid(job, record.source, room if was_of_use else 0):
            bolt, arrival = self._pieces.pop(job)
            self.repaid_tuples += len(arrival)
            bolt.answered(arrival, answers)

    def work(self, exhausted: set[Channel]) -> int:
        """For every turn: asks for time, lends, and takes back what is late. Returns how many pieces were lent."""
        if not self._lender.called:
            return 0
        self._look_at_assignment()
        now_ns = self._steady_ns()
        self._take_back(self._lender.late(now_ns))
        if self._lender.is_to_ask(now_ns):
            for peer in self._carriers:
                if self._company.knows(peer) and peer not in self._company.silent:
                    self._send(peer, FrameKind.WANTED, b"")
        return sum(self._lend_pieces_of(task, exhausted, now_ns) for task in sorted(self._lender.called))

    @property
    def next_due_ns(self) -> int | None:
        """When something that is lent is late, by the steady time; None if nothing is lent."""
        return self._lender.next_due_ns

    def _lend_pieces_of(self, task: int, exhausted: set[Channel], now_ns: int) -> int:
        bolt = self._roster.bolt_by_task.get(task)
        # If those behind it are full, it is not the task that is too slow.
        if bolt is None or bolt.waiting or bolt.leaving or bolt.blocked_by(exhausted):
            return 0
        most_jobs = max(2, AHEAD_NS // max(PIECE_NS, bolt.tuple_ns))
        lent = 0
        while (borrower := self._lender.borrower(most_jobs)) is not None and (
            piece := bolt.piece(self._edges)
        ) is not None:
            job = self._random_number()
            payload = _payload(job, task, piece)
            if payload is None:
                bolt.take_back(piece)  # it does this one itself
                break
            self._lender.lend(job, task, borrower, now_ns + LATE_AFTER_NS + 10 * len(piece) * bolt.tuple_ns)
            self._pieces[job] = (bolt, piece)
            self._send(borrower, FrameKind.LOAN, payload, stream=piece.edge)
            lent += 1
        return lent

    def _look_at_assignment(self) -> None:
        """By another assignment, the others may not be what they were: nothing is lent across."""
        if self._assignment != self._places.assignment:
            self._assignment = self._places.assignment
            self._take_back(self._lender.all_back())

    def _take_back(self, jobs: Iterable[int]) -> None:
        for job in reversed([*jobs]):  # so that what was lent first is done first
            bolt, piece = self._pieces.pop(job)
            bolt.take_back(piece)

    def _send(self, peer: int, kind: FrameKind, payload: bytes, stream: int = 0) -> None:
        route = Route(
            target=peer, source=self._company.me, stream=stream, assignment=self._places.assignment, flags=kind
        )
        self._carriers[peer].send(route, payload, 0)


def _payload(job: int, task: int, piece: Arrival) -> bytes | None:
    """A piece as it travels; None if it does not."""
    try:
        payload = encode_loan(job, task, piece.tuples)
    except UNENCODABLE:
        return None
    return payload if len(payload) <= MOST_FRAME_BYTES else None
