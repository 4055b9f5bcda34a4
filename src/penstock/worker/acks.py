"""News of trees, from the worker's book to the tasks that keep the trees; and which markers have passed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from penstock.flow.ledger import AckBook, News
from penstock.flow.sweeps import Sweeps
from penstock.transport.frames import FrameKind
from penstock.transport.ring import Route
from penstock.worker.carriers import Carrier
from penstock.worker.tasks import RunningTask
from penstock.worker.tracking import Keeper

__all__ = ["Acks"]

_encode = msgspec.msgpack.Encoder().encode
_decode_news = msgspec.msgpack.Decoder(News).decode
_decode_epoch = msgspec.msgpack.Decoder(int).decode


class Acks:
    """One worker's part in tracking trees.

    Args:
        worker: its number.
        book: what its tasks have written.
        worker_of: where each task is.
        carriers: the ways to the other workers.
        assignment: the number that frames carry.
        batch_bolts: how many batch bolts there are on the longest way through the topology. What a batch bolt is given
            is done only when what it emitted is, so a loss is certain only so many markers later.
    """

    def __init__(
        self,
        *,
        worker: int,
        book: AckBook,
        worker_of: Mapping[int, int],
        carriers: Mapping[int, Carrier],
        assignment: int,
        batch_bolts: int,
    ) -> None:
        self._worker = worker
        self._book = book
        self._worker_of = worker_of
        self._carriers = carriers
        self._assignment = assignment
        self._batch_bolts = batch_bolts
        self._keepers: dict[int, Keeper] = {}
        self._sweeps = Sweeps(set(worker_of.values()))
        self._passed = 0
        self._newest_epoch = 0

    def keep(self, keeper: Keeper) -> None:
        """This task keeps trees."""
        self._keepers[keeper.task] = keeper

    def tell(self) -> None:
        """Tells whoever keeps a tree what has become of it since the last time."""
        while True:
            news = self._book.take()
            for keeper in self._keepers.values():
                keeper.hear_own(news.pop(keeper.task, None))
            for task, told in news.items():
                self._send(self._worker_of[task], FrameKind.NEWS, task, _encode(told))
            if not len(self._book):  # what was told may be news again, of the trees that a batch bolt was given
                return

    def heard(self, task: int, payload: bytes | memoryview) -> None:
        """News from another worker. A task that keeps no trees here any more needs none."""
        keeper = self._keepers.get(task)
        if keeper is not None:
            keeper.hear(_decode_news(payload))

    def begin_epoch(self, epoch: int) -> None:
        """A marker of this epoch is under way."""
        self._newest_epoch = max(epoch, self._newest_epoch)

    def note_passed(self, tasks: Iterable[RunningTask]) -> None:
        """Tells everybody when all tasks of this worker have passed a marker; all news from before it were told."""
        passed = min((task.passed_epoch for task in tasks if not task.ended), default=self._newest_epoch)
        if passed <= self._passed:
            return
        self._passed = passed
        for worker in self._carriers:
            self._send(worker, FrameKind.PASSED, worker, _encode(passed))
        self._worker_passed(self._worker, passed)

    def heard_passed(self, worker: int, payload: bytes | memoryview) -> None:
        """All tasks of another worker have passed a marker."""
        self._worker_passed(worker, _decode_epoch(payload))

    def restarted(self, worker: int) -> None:
        """Another process is this worker now."""
        self._sweeps.restarted(worker)

    def _worker_passed(self, worker: int, epoch: int) -> None:
        everywhere = self._sweeps.passed(worker, epoch)
        if everywhere is not None:
            for keeper in self._keepers.values():
                keeper.marker_passed(everywhere - self._batch_bolts)

    def _send(self, worker: int, kind: FrameKind, target: int, payload: bytes) -> None:
        route = Route(target=target, source=self._worker, assignment=self._assignment, flags=kind)
        self._carriers[worker].send(route, payload, 0)
