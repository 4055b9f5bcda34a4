"""Borrowing: a worker with time to spare works on pieces of other workers' queues. See flow/lending.

It needs nothing but the bolt's code: a piece is a list of tuples, and what comes of each goes back to whoever has lent
it. A tuple that fails is left to the lender, who finds out for itself, and tells of it as of any other.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from penstock._native import Record
from penstock.flow.balance import SPARE_SHARE
from penstock.plan.edges import Edge
from penstock.topology.context import TaskContext
from penstock.topology.emit import outputs
from penstock.topology.topology import Topology
from penstock.transport.frames import FrameKind
from penstock.transport.ring import Route
from penstock.transport.values import row_decoder
from penstock.worker.carriers import Carrier
from penstock.worker.early_frames import EarlyFrame
from penstock.worker.failures import USER_ERRORS, Failures
from penstock.worker.lanes import MOST_FRAME_TUPLES, MOST_TUPLE_BYTES
from penstock.worker.loan_frames import Answer, encode_offer, encode_repaid
from penstock.worker.wiring import Wiring

__all__ = ["Borrowing"]

JOBS_AT_A_TIME = 8
"""Of about 5 ms each; whoever lends may give it less."""


class _Loan(NamedTuple):
    lender: int
    assignment: int
    job: int
    task: int
    tuples: Sequence[Any]


class Borrowing:
    """What one worker does for others.

    Args:
        topology: what runs.
        wiring: the ways to the others, and what is known of the tasks.
        edges: those whose tuples may be worked on anywhere, by their number.
        context_of: what a task is told when it is opened.
        has_own_need: whether tasks of this worker want others' time themselves.
        failures: where it is told that a bolt could not be opened or closed.
        steady_ns: the time.
    """

    def __init__(
        self,
        *,
        topology: Topology,
        wiring: Wiring,
        edges: Mapping[int, Edge],
        context_of: Callable[[int], TaskContext],
        has_own_need: Callable[[], bool],
        failures: Failures,
        steady_ns: Callable[[], int],
    ) -> None:
        self._topology = topology
        self._wiring = wiring
        self._carriers: Mapping[int, Carrier] = wiring.carriers
        self._edges = edges
        self._decoders = {
            number: row_decoder(tuple[int, int, list[wiring.facts.tuple_class(edge)]])  # type: ignore[misc]
            for number, edge in edges.items()
        }
        self._context_of = context_of
        self._spare_time = wiring.spare_time
        self._has_own_need = has_own_need
        self._failures = failures
        self._steady_ns = steady_ns
        self._loans: deque[_Loan] = deque()
        self._opened: dict[int, tuple[str, Any]] = {}
        """The component and the logic of each task that has lent something; no logic if it could not be opened."""
        self._opened_under = wiring.assigned.number

    def wanted(self, record: Record | EarlyFrame) -> None:
        """Takes a frame of WANTED: offers what time there is, unless something is left of what it was lent before.

        Whoever has taken back what was late counts it no more, and would lend as much again, and again.
        """
        if record.source not in self._carriers or record.assignment != self._wiring.assigned.number:
            return
        if self._room() and all(loan.lender != record.source for loan in self._loans):
            self._send(record.source, FrameKind.OFFER, encode_offer(self._room()))

    def lent(self, record: Record | EarlyFrame) -> None:
        """Takes a frame of LOAN. Raises one of `UNREADABLE`."""
        if record.stream not in self._edges:
            message = f"what comes on edge {record.stream} cannot be lent"
            raise ValueError(message)
        job, task, tuples = self._decoders[record.stream](record.payload)
        known = self._wiring.assigned.by_id.get(task)
        if known is None or known.component != self._edges[record.stream].target:
            message = f"no task {task} takes what comes on edge {record.stream}"
            raise ValueError(message)
        if record.source not in self._carriers:
            message = f"there is no worker {record.source}"
            raise ValueError(message)
        self._loans.append(_Loan(record.source, record.assignment, job, task, tuples))

    def lost(self, peer: int) -> None:
        """A worker is gone: nobody waits for what it has lent."""
        self._loans = deque(loan for loan in self._loans if loan.lender != peer)

    def work(self) -> int:
        """For every turn: works on one piece. Returns of how many tuples."""
        if not self._loans:
            return 0
        began_ns = self._steady_ns()
        loan = self._loans.popleft()
        answers = self._answers(loan)
        # It is done in spare time, so there is as much of that as before.
        self._spare_time.idled(began_ns, self._steady_ns())
        payload = encode_repaid(loan.job, self._room(), answers)
        if len(payload) > MOST_TUPLE_BYTES:
            payload = encode_repaid(loan.job, self._room(), [None] * len(answers))
        self._send(loan.lender, FrameKind.REPAID, payload)
        return len(loan.tuples)

    def _room(self) -> int:
        has_time = not self._has_own_need() and self._spare_time.share(self._steady_ns()) >= SPARE_SHARE
        return JOBS_AT_A_TIME if has_time else 0

    def _answers(self, loan: _Loan) -> list[Answer]:
        logic = self._logic_of(loan.task) if loan.assignment == self._wiring.assigned.number else None
        if logic is None:
            return [None] * len(loan.tuples)
        answers: list[Answer] = []
        for tup in loan.tuples:
            try:
                answer = [*islice(outputs(logic.process(tup)), MOST_FRAME_TUPLES + 1)]
            except USER_ERRORS:
                answers.append(None)
            else:  # what is much is emitted in pieces, by the lender
                answers.append(answer if len(answer) <= MOST_FRAME_TUPLES else None)
        return answers

    def _logic_of(self, task: int) -> Any:
        if self._opened_under != self._wiring.assigned.number:
            self.close()
            self._opened_under = self._wiring.assigned.number
        if task not in self._opened:
            component = self._wiring.assigned.by_id[task].component
            self._opened[task] = component, self._open(component, task)
        return self._opened[task][1]

    def _open(self, component: str, task: int) -> Any:
        logic = copy.deepcopy(self._topology.components[component].logic)
        try:
            logic.open(self._context_of(task))
        except USER_ERRORS as error:
            self._failures.add(component, task, error, None)
            return None
        return logic

    def close(self) -> None:
        """Closes what was opened for others."""
        for task, (component, logic) in self._opened.items():
            try:
                if logic is not None:
                    logic.close()
            except USER_ERRORS as error:
                self._failures.add(component, task, error, None)
        self._opened.clear()

    def _send(self, peer: int, kind: FrameKind, payload: bytes) -> None:
        assignment = self._wiring.assigned.number
        self._carriers[peer].send(
            Route(target=peer, source=self._wiring.company.me, assignment=assignment, flags=kind), payload, 0
        )
