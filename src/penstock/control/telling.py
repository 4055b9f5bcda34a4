"""What a worker tells the controller by itself: reports, failures, rows, what was saved, and who is dead."""

from __future__ import annotations

from typing import Any

from penstock.control.client import ControlClient
from penstock.control.moving import Moved
from penstock.control.peers import Peer, PeerGone
from penstock.control.protocol import Collected, LinkBroken, SpoutFailing, TaskFailure, TaskNotSaved, TaskSaved, Trial
from penstock.control.reporting import report_of
from penstock.errors import RunError
from penstock.topology.collecting import CollectingBolt
from penstock.transport.links import LinkReceiver
from penstock.worker.bolt_task import BoltTask
from penstock.worker.checkpoints import Saved
from penstock.worker.failures import Failures
from penstock.worker.row_chunks import row_chunks
from penstock.worker.worker import Worker

__all__ = ["NEWS_EVERY_NS", "NewsTimes", "Telling"]

NEWS_EVERY_NS = 5_000_000
"""How often a worker that is never idle tells what is new. Whoever wants it sooner rings its bell."""


class NewsTimes:
    """When a worker tells what its turns may have brought: as soon as it is idle, and now and then while it is not.

    Pure. What a turn has brought is told after that turn, or after the first one that leaves the worker idle, or, while
    none does, after `NEWS_EVERY_NS`.
    """

    def __init__(self) -> None:
        self._untold = False
        self._due_ns = 0

    def turned(self, worked: int, *, is_restless: bool, now_ns: int) -> bool:
        """After each turn, which had so much to do: whether it is time."""
        self._untold |= worked > 0
        return self._untold and (not is_restless or now_ns >= self._due_ns)

    def told(self, now_ns: int) -> None:
        """All that was new is told."""
        self._untold = False
        self._due_ns = now_ns + NEWS_EVERY_NS


class Telling:
    """Looks at a worker, and says what is new."""

    def __init__(self, control: ControlClient, link: LinkReceiver) -> None:
        self._control = control
        self._link = link
        self._told_lost_frames = 0
        self._told_gone: set[tuple[int, int]] = set()

    def report(self, worker: Worker, failures: Failures) -> None:
        """Everything that was counted, raised and collected."""
        self._control.send(report_of(worker))
        for failure, more in failures.take_fresh():
            self._control.send(
                TaskFailure(
                    component=failure.component,
                    task=failure.task,
                    kind=failure.kind,
                    message=f"{failure.message} (on {failure.culprit})" if failure.culprit else failure.message,
                    traceback=failure.trace,
                    count=more,
                )
            )
        for spout in worker.spouts:
            if (trouble := spout.take_trouble()) is not None:
                self._control.send(SpoutFailing(component=spout.component, task=spout.task, trouble=trouble))
        self.rows(worker)

    def checkpoints(self, worker: Worker, assignment: int) -> None:
        """What was saved, or could not be."""
        for news in worker.checkpoint_news():
            said = {"assignment": assignment, "task": news.task, "epoch": news.epoch}
            if isinstance(news, Saved):
                self._control.send(TaskSaved(saved=news.saved, **said))
            else:
                self._control.send(TaskNotSaved(reason=news.reason, **said))

    def moves(self, worker: Worker) -> None:
        """Tasks that have come from elsewhere."""
        for task in worker.moving.arrived_tasks():
            self._control.send(Moved(assignment=worker.moving.newest, task=task))

    def trials(self, worker: Worker) -> None:
        """How far spouts are with emitting again what was lost."""
        for spout in worker.spouts:
            for stage in spout.take_trial_stages():
                self._control.send(Trial(task=spout.task, stage=stage))

    def dead_peers(self, worker: Worker, peers: dict[int, Peer]) -> None:
        """Those whose process is gone, each once."""
        for peer in peers.keys() & worker.gone_peers():  # one that had ended before we came, we have never met
            known = (peer, peers[peer].generation)
            if known not in self._told_gone:
                self._told_gone.add(known)
                self._control.send(PeerGone(worker=peer, generation=known[1]))

    def lost_frames(self) -> None:
        """Frames of other nodes that did not arrive; RunError if the link is of no use any more."""
        if self._link.error is not None:
            raise RunError(self._link.error)
        lost = self._link.lost_frames - self._told_lost_frames
        if lost:
            self._told_lost_frames += lost
            self._control.send(LinkBroken(lost_frames=lost))

    def rows(self, worker: Worker) -> None:
        """What Collect sinks have."""
        for bolt in worker.bolts:
            if isinstance(bolt.logic, CollectingBolt):
                self._send_rows(bolt)

    def _send_rows(self, bolt: BoltTask) -> None:
        logic, sink = bolt.logic, bolt.component
        arrivals = None if bolt.collecting is None else bolt.collecting.arrivals
        numbered = logic.fetched if logic.by_epochs else None
        rows: list[tuple[Any, ...]] = logic.drain_collected()
        try:
            for chunk in row_chunks(rows):
                is_last = chunk.first + chunk.count == len(rows)
                self._control.send(
                    Collected(
                        component=sink,
                        task=bolt.task,
                        first=None if numbered is None else numbered + chunk.first,
                        count=chunk.count,
                        rows=chunk.rows,
                        arrivals=arrivals if is_last else None,
                    )
                )
        except TypeError as error:
            message = f"sink {sink!r} has collected what cannot travel to the driver: {error}"
            raise RunError(message) from None
