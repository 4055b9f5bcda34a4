"""News of trees, from the worker's book to the tasks that keep the trees; and which markers have passed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated

import msgspec

from penstock.flow.ledger import AckBook, News
from penstock.flow.sweeps import Sweeps
from penstock.transport.frames import FrameKind
from penstock.transport.ring import Route
from penstock.worker.carriers import Carrier
from penstock.worker.clearance import Clearance
from penstock.worker.tasks import RunningTask
from penstock.worker.tracking import Keeper

__all__ = ["Acks"]

_NotNegative = Annotated[int, msgspec.Meta(ge=0)]
_encode = msgspec.msgpack.Encoder().encode
_decode_news = msgspec.msgpack.Decoder(News).decode
_decode_passed = msgspec.msgpack.Decoder(tuple[_NotNegative, _NotNegative]).decode


class Acks:
    """One worker's part in tracking trees.

    Args:
        worker: its number.
        book: what its tasks have written.
        worker_of: where each task is.
        carriers: the ways to the other workers.
        assignment: the number that frames carry.
        rounds: how many bolts that keep trees there are on the longest way through the topology, see `_worker_passed`.
    """

    def __init__(
        self,
        *,
        worker: int,
        book: AckBook,
        worker_of: Mapping[int, int],
        carriers: Mapping[int, Carrier],
        assignment: int,
        rounds: int,
    ) -> None:
        self._worker = worker
        self._book = book
        self._worker_of = worker_of
        self._carriers = carriers
        self._assignment = assignment
        self._keepers: dict[int, Keeper] = {}
        self._awaited: dict[int, int] = {}
        """Tasks that come here, but are elsewhere still: what is told of their trees goes there."""
        self.clearance = Clearance(worker=worker, carriers=carriers)
        self._sweeps = [Sweeps(set(worker_of.values())) for _ in range(rounds + 1)]
        self._passed = 0
        self._unclear = 0
        self._newest_epoch = 0

    def keep(self, keeper: Keeper) -> None:
        """This task keeps trees, here and from now on."""
        self._keepers[keeper.task] = keeper
        self._awaited.pop(keeper.task, None)

    def keep_no_more(self, task: int) -> None:
        """This task is gone."""
        self._keepers.pop(task, None)

    def switch(
        self, epoch: int, *, assignment: int, peers: Iterable[int], left: Mapping[int, int], came: Mapping[int, int]
    ) -> None:
        """Tasks have moved: those that `left` to other workers, and those that `came` from others.

        Markers up to this epoch are not waited for: whether they have passed cannot be told.

        A worker may have said that it has passed a marker, and then be given a task that has not. The next epoch begins
        when all tasks are where they belong, and its marker finds whatever is lost.
        """
        self._unclear = max(epoch, self._newest_epoch)
        self._passed = max(self._passed, self._unclear)
        for sweeps in self._sweeps:
            sweeps.replace_workers({*self._worker_of.values()})
        for task, worker in came.items():
            self._awaited[task] = worker
        self.clearance.switch(assignment, peers, left, came)

    def tell(self) -> None:
        """Tells whoever keeps a tree what has become of it since the last time."""
        while True:
            news = self._book.take()
            for keeper in self._keepers.values():
                keeper.hear_own(news.pop(keeper.task, None))
            for task, told in news.items():
                worker = self._place_of(task)
                if worker != self._worker:  # else nobody keeps such a tree: its root was made up
                    self._send(worker, FrameKind.NEWS, task, _encode(told))
            if not len(self._book):  # what was told may be news again, where a bolt keeps trees
                return

    def heard(self, task: int, payload: bytes | memoryview) -> None:
        """News from another worker. Whoever has told us did not know yet that the task has moved, if it has."""
        keeper = self._keepers.get(task)
        if keeper is not None:
            keeper.hear(_decode_news(payload))
            return
        worker = self._place_of(task)
        if worker != self._worker:
            self._send(worker, FrameKind.NEWS, task, bytes(payload))

    def _place_of(self, task: int) -> int:
        return self._awaited.get(task, self._worker_of.get(task, self._worker))

    def begin_epoch(self, epoch: int) -> None:
        """A marker of this epoch is under way."""
        self._newest_epoch = max(epoch, self._newest_epoch)

    def note_passed(self, tasks: Iterable[RunningTask]) -> None:
        """Tells everybody when all tasks of this worker have passed a marker; all news from before it were told."""
        passed = min((task.passed_epoch for task in tasks if not task.ended), default=self._newest_epoch)
        if passed <= self._passed:
            return
        self._passed = passed
        self._announce(passed, 0)

    def heard_passed(self, worker: int, payload: bytes | memoryview) -> None:
        """All tasks of another worker have passed a marker."""
        epoch, number = _decode_passed(payload)
        if epoch <= self._unclear:
            return
        if number >= len(self._sweeps):
            message = f"there is no round {number}"
            raise ValueError(message)
        self._worker_passed(worker, epoch, number)

    def restarted(self, worker: int) -> None:
        """Another process is this worker now."""
        for sweeps in self._sweeps:
            sweeps.restarted(worker)

    def _announce(self, epoch: int, number: int) -> None:
        for worker in self._carriers:
            self._send(worker, FrameKind.PASSED, worker, _encode((epoch, number)))
        self._worker_passed(self._worker, epoch, number)

    def _worker_passed(self, worker: int, epoch: int, number: int) -> None:
        """Goes round by round, because what a bolt was given that keeps trees is done only when what it emitted is.

        In round 0 the marker has passed all tasks, and all news of that were told: so those of these bolts that feed
        no other know what they have lost. When they have told that, round 1 begins, in which those before them know;
        and so on up to the spouts.

        A worker may have passed a marker and still pass on what others have sent before it, by an uplink. But that is
        for a bolt that keeps trees: whoever waits for it waits for round 1, in which that worker has told of it.
        """
        everywhere = self._sweeps[number].passed(worker, epoch)
        if everywhere is None:
            return
        for keeper in self._keepers.values():
            if keeper.keepers_after == number and self.clearance.is_clear(keeper.task):
                keeper.marker_passed(everywhere)
        if number + 1 < len(self._sweeps):
            self.tell()
            self._announce(everywhere, number + 1)

    def _send(self, worker: int, kind: FrameKind, target: int, payload: bytes) -> None:
        route = Route(target=target, source=self._worker, assignment=self._assignment, flags=kind)
        self._carriers[worker].send(route, payload, 0)
