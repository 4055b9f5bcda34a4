"""News of trees, from the worker's book to the tasks that keep the trees; and which markers have passed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
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
        self._early_news: dict[int, list[News]] = {}
        """What was told of the trees of tasks that come here and have not come yet."""
        self._held_news: dict[int, list[tuple[int, News]]] = {}
        """What is to be told to workers that are gone: the process that comes in the place of one may be faster to send
        us tuples than the coordinator is to tell us of it."""
        self.clearance = Clearance(worker=worker, carriers=carriers)
        self._sweeps = [Sweeps(set(worker_of.values())) for _ in range(rounds + 1)]
        self._passed = 0
        self._newest_epoch = 0

    def keep(self, keeper: Keeper) -> None:
        """This task keeps trees, here and from now on."""
        self._keepers[keeper.task] = keeper
        for news in self._early_news.pop(keeper.task, ()):
            keeper.hear(news)
        self._go_round(keeper.keepers_after)

    def keep_no_more(self, task: int) -> None:
        """This task is gone."""
        self._keepers.pop(task, None)

    def switch(
        self, *, assignment: int, peers: Collection[int], left: Mapping[int, int], came: Mapping[int, int]
    ) -> None:
        """Tasks have moved: those that `left` to other workers, and those that `came` from others.

        A worker may have said that it has passed a marker, and then be given a task that has not. So what was said
        under another assignment counts no more, and everybody says it again: a worker that is given a task, when the
        task has come and has passed the marker; a worker that has no tasks any more, when the last has left it.
        """
        self._assignment = assignment
        self._passed = 0
        self._sweeps = [Sweeps({self._worker, *peers, *self._worker_of.values()}) for _ in self._sweeps]
        for task in came:
            self._early_news[task] = []
        self.clearance.switch(assignment, peers, left, came)

    def tell(self) -> None:
        """Tells whoever keeps a tree what has become of it since the last time."""
        while True:
            news = self._book.take()
            for keeper in self._keepers.values():
                keeper.hear_own(news.pop(keeper.task, None))
            for task, told in news.items():
                self._tell_keeper(task, told)
            if not len(self._book):  # what was told may be news again, where a bolt keeps trees
                return

    def heard(self, task: int, payload: bytes | memoryview) -> None:
        """News from another worker. Whoever has told us did not know yet that the task has moved, if it has."""
        keeper = self._keepers.get(task)
        if keeper is not None:
            keeper.hear(_decode_news(payload))
        else:
            self._tell_keeper(task, _decode_news(payload))

    def _tell_keeper(self, task: int, news: News) -> None:
        if task in self._early_news:
            self._early_news[task].append(news)
            return
        worker = self._worker_of.get(task, self._worker)
        if worker == self._worker:  # nobody keeps such a tree: its root was made up
            return
        if worker in self._held_news:
            self._held_news[worker].append((task, news))
        else:
            self._send(worker, FrameKind.NEWS, task, _encode(news))

    def begin_epoch(self, epoch: int) -> None:
        """A marker of this epoch is under way."""
        self._newest_epoch = max(epoch, self._newest_epoch)

    def note_passed(self, tasks: Iterable[RunningTask]) -> None:
        """Tells everybody when all tasks of this worker have passed a marker; all news from before it were told."""
        # One that is silent goes on elsewhere, and passes markers there.
        passed = min(
            (task.passed_epoch for task in tasks if not task.ended and not task.is_silent), default=self._newest_epoch
        )
        if passed <= self._passed:
            return
        self._passed = passed
        self._announce(passed, 0)

    def heard_passed(self, worker: int, assignment: int, payload: bytes | memoryview) -> None:
        """All tasks that another worker has under an assignment have passed a marker."""
        epoch, number = _decode_passed(payload)
        if number >= len(self._sweeps):
            message = f"there is no round {number}"
            raise ValueError(message)
        if assignment == self._assignment:
            self._worker_passed(worker, epoch, number)

    def heard_cleared(self, task: int) -> None:
        """All that was told to the old place of a task has come."""
        self.clearance.heard_cleared(task)
        if task in self._keepers:
            self._go_round(self._keepers[task].keepers_after)

    def lose(self, worker: int, *, has_tasks: bool) -> None:
        """A worker is gone. Another process will be this worker, if it `has_tasks`."""
        self.clearance.lose(worker)
        if has_tasks:
            self._held_news.setdefault(worker, [])
        for number, sweeps in enumerate(self._sweeps):
            if not has_tasks:
                sweeps.gone(worker)
            self._go_round(number)

    def restarted(self, worker: int) -> None:
        """Another process is this worker now."""
        for sweeps in self._sweeps:
            sweeps.restarted(worker)
        for task, news in self._held_news.pop(worker, ()):
            self._tell_keeper(task, news)  # which may have moved meanwhile

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
        if self._sweeps[number].passed(worker, epoch) is not None:
            self._go_round(number)

    def _go_round(self, number: int) -> None:
        everywhere = self._sweeps[number].everywhere
        if not everywhere:
            return
        # One that is about to leave does not know what is told to its new place already. It hears of the marker there.
        here = [keeper for keeper in self._keepers.values() if self._worker_of.get(keeper.task) == self._worker]
        keepers = [keeper for keeper in here if keeper.keepers_after == number]
        clear = [keeper for keeper in keepers if self.clearance.is_clear(keeper.task)]
        for keeper in clear:
            keeper.marker_passed(everywhere)
        if number + 1 < len(self._sweeps) and len(clear) == len(keepers):
            self.tell()
            self._announce(everywhere, number + 1)

    def _send(self, worker: int, kind: FrameKind, target: int, payload: bytes) -> None:
        route = Route(target=target, source=self._worker, assignment=self._assignment, flags=kind)
        self._carriers[worker].send(route, payload, 0)
