"""Tasks as the worker runs them: what all have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from penstock.errors import RunError
from penstock.flow.credit import Channel
from penstock.worker.clock import Clock
from penstock.worker.failures import USER_ERRORS, Failures, reason_of
from penstock.worker.outputs import Outputs
from penstock.worker.tracking import Tracking

if TYPE_CHECKING:
    from penstock.worker.helper_task import HelperTask
    from penstock.worker.opened_logic import OpenedLogic
    from penstock.worker.tracking import Keeper

__all__ = ["FLUSH_EVERY_NS", "RunningTask"]

FLUSH_EVERY_NS = 500_000
"""How long what was emitted waits for the end of a turn at most, unless a call takes longer: else those that it is for
would have nothing to do meanwhile, and then much at once."""


class RunningTask:
    """A spout's or bolt's instance in this worker, with its counters."""

    def __init__(
        self,
        *,
        task: int,
        component: str,
        logic: Any,
        outputs: Outputs,
        clock: Clock,
        failures: Failures,
        tracking: Tracking | None,
        keepers_after: int,
    ) -> None:
        self.task = task
        self.component = component
        self.logic = logic
        self.outputs = outputs
        self.clock = clock
        self.failures = failures
        self.tracking = tracking
        """None where trees are not tracked."""
        self.keepers_after = keepers_after
        """How many bolts that keep trees what it emits can meet at most."""
        self.passed_epoch = 0
        """The newest epoch whose marker it has passed on."""
        self.processed = 0
        self.failed = 0
        self.redirected = 0
        """How many of what it processed others have worked on."""
        self.busy_ns = 0
        self.ended = False
        self.waiting = False
        """Whether it is still to be handed over to this worker: until then it only takes in."""
        self.leaving = False
        """Whether it is about to be handed over to another worker."""
        self.is_silent = False
        """Whether it has sent its last from here, and goes on elsewhere."""
        self.opened: OpenedLogic | None = None
        """How its logic was when it had been opened; None before that, and where it is known that it has no state."""
        self.helpers: list[HelperTask] = []
        """What does the work of bolts that it feeds, in its own worker."""
        # When the oldest tuple entered the topology that has gone into what is not flushed yet.
        self.oldest_origin_ns = 0

    @property
    def suspected(self) -> int:
        """The task that is named where a tuple may be about to kill the worker: one of its component."""
        return self.task

    @property
    def queued_tuples(self) -> int:
        """How many tuples wait for it."""
        return 0

    @property
    def unsettled(self) -> int:
        """How much of what it was given has still to be put where it lasts."""
        return 0

    @property
    def is_in_call(self) -> bool:
        """Whether user code has given more than could be emitted so far: it is called no more until that is."""
        return False

    @property
    def keeper(self) -> Keeper | None:
        """What keeps trees here, if anything does."""
        return None

    @property
    def whole(self) -> list[RunningTask]:
        """It, and its helpers."""
        return [self, *self.helpers]

    def blocked_by(self, exhausted: set[Channel]) -> bool:
        """Whether what it emits may have to go on a channel that has no credit left, or to a task that wants no more.

        One that leaves is not kept from anything: all that it does is to work through what has come, which is bounded.
        If it had to wait for one that waits until it has left, they would wait for ever.
        """
        return not self.leaving and self.outputs.blocked_by(exhausted)

    def flush(self, now_ns: int) -> None:
        """Passes on what was emitted."""
        origin_ns, self.oldest_origin_ns = self.oldest_origin_ns or now_ns, 0
        for refusal in self.outputs.flush(origin_ns, now_ns):
            self.fail(*refusal)

    def flush_piece(self) -> None:
        """Passes on what a call has emitted so far. The rest of it is as old."""
        origin_ns = self.oldest_origin_ns
        self.flush(self.clock.now_ns())
        self.oldest_origin_ns = origin_ns
        self.outputs.fit_pieces()

    def emitting(self, call: Callable[[], Any]) -> Iterator[None]:
        """Runs a lifecycle method and emits what it returns, in pieces; an exception is reported, not raised."""
        try:
            out = call()
            if out is not None:
                yield from self.outputs.emit_in_pieces(out, self.fail)
        except USER_ERRORS as error:
            self.fail(error, None)

    def fail(self, error: BaseException, culprit: Any, root: int | None = None) -> None:
        """Counts an exception of user code, and fails the tree, which is the one that is worked on unless it is told.

        But for a RunError, which is meant to end the run.
        """
        if isinstance(error, RunError):
            raise error
        self.failed += 1
        self.failures.add(self.component, self.task, error, culprit)
        if self.tracking is not None:
            self.tracking.book.failed(self.tracking.root if root is None else root, self.component, reason_of(error))

    def close(self) -> None:
        """The end of the task, in good order."""
        for _ in self.emitting(self.logic.close):
            pass
        for helper in self.helpers:
            helper.close()
