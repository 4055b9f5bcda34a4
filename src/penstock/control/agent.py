"""The executor's side of control: registers a worker, builds it when told what to run, and keeps its duty cycle going.

    run_worker(ticket)  ->  Register … Admit … Deploy … Ready … Begin … (work) … Ended … Stop  ->  Outcome

One thread does everything, the worker's own: the control socket is looked at between turns.
"""

from __future__ import annotations

import logging
import os
import platform
import socket
import time
import traceback
from collections.abc import Collection
from typing import Any

from penstock.checkpoint.store import CheckpointStore
from penstock.control.client import ControlClient
from penstock.control.echo import Echo
from penstock.control.fed_tasks import FedTasks
from penstock.control.feeding import CloseBatch, EndFeed
from penstock.control.peers import Peer, PeerChanged, PeerGone, PeerLost, PeerSilent
from penstock.control.protocol import (
    Admit,
    Begin,
    BeginEpoch,
    Collected,
    Committed,
    Deploy,
    Drain,
    Ended,
    Fatal,
    FromController,
    Left,
    LinkBroken,
    Noted,
    Pulse,
    Ready,
    Refuse,
    Register,
    RowsKept,
    Stop,
    TaskFailure,
    TaskNotSaved,
    TaskSaved,
    TasksEnded,
    Tried,
    Trying,
)
from penstock.control.reporting import report_of
from penstock.control.slow_calls import SlowCalls
from penstock.control.ticket import Outcome, Ticket
from penstock.errors import RunError
from penstock.topology.collecting import CollectingBolt
from penstock.topology.shipping import from_bytes
from penstock.transport.links import LinkReceiver
from penstock.transport.ring import RingReader, RingSettings
from penstock.version import __version__
from penstock.worker.arrival import Arrival, Marker
from penstock.worker.bolt_task import BoltTask
from penstock.worker.carriers import FrameWay
from penstock.worker.checkpoints import Saved
from penstock.worker.company import Colleague
from penstock.worker.deployment import Deployment
from penstock.worker.early_frames import EarlyFrame
from penstock.worker.failures import USER_ERRORS
from penstock.worker.garbage import GarbageKeeper
from penstock.worker.peers import way_to
from penstock.worker.row_chunks import row_chunks
from penstock.worker.worker import Worker

__all__ = ["run_worker"]

log = logging.getLogger(__name__)

REPORT_EVERY_NS = 500_000_000
LOOK_AT_CONTROL_EVERY_NS = 1_000_000
LOOK_AT_PEERS_EVERY_NS = 50_000_000
IDLE_AT_MOST_S = 0.02


def run_worker(ticket: Ticket) -> Outcome:
    """Is worker `ticket.worker` of a run until told to stop. Returns what to tell the driver; raises nothing."""
    try:
        with (
            RingReader.create(RingSettings(capacity_bytes=ticket.settings.inbox_bytes)) as inbox,
            LinkReceiver(
                host=ticket.host,
                ring_address=inbox.address,
                keys=ticket.keys,
                high_water_frames=ticket.settings.link_high_water_frames,
            ) as link,
            ControlClient(endpoint=ticket.endpoint, server_public=ticket.server_public, keys=ticket.keys) as control,
            Echo(ticket, control.name),
            SlowCalls(ticket, control.name, lambda: control.turns),
        ):
            return _Agent(ticket, inbox, link, control).run()
    except Exception:  # whatever it is, the driver wants to read it
        return Outcome(worker=ticket.worker, ok=False, text=traceback.format_exc())


class _Agent:
    def __init__(self, ticket: Ticket, inbox: RingReader, link: LinkReceiver, control: ControlClient) -> None:
        self._ticket = ticket
        self._inbox = inbox
        self._link = link
        self._told_lost_frames = 0
        self._control = control
        self._deployment: Deployment | None = None
        self._worker: Worker | None = None
        self._told_ended = False
        self._closed = False
        self._outcome: Outcome | None = None
        self._assignment = 0
        self._deployed: Deploy | None = None
        self._peers: dict[int, Peer] = {}
        self._told_gone: set[tuple[int, int]] = set()
        self._fed = FedTasks(ticket, control.send)
        self._garbage = GarbageKeeper(time.monotonic_ns)

    def run(self) -> Outcome:
        self._control.send(
            Register(
                run=self._ticket.run,
                worker=self._ticket.worker,
                launch=self._ticket.launch,
                attempt=self._ticket.attempt,
                node=self._ticket.node,
                host=socket.gethostname(),
                pid=os.getpid(),
                ring_address=self._inbox.address,
                link_endpoint=self._link.endpoint,
                penstock_version=__version__,
                python_version=platform.python_version(),
                cores=len(os.sched_getaffinity(0)),
            )
        )
        try:
            self._cycle()
            self._close()
            self._report()
            self._control.send(Left())
        except USER_ERRORS:  # a fault of ours, or of a task's `open`: another process in our place would meet it too
            trace = traceback.format_exc()
            self._close()
            self._control.send(Fatal(traceback=trace, assignment=self._assignment or None))
            self._control.flush()
            return Outcome(worker=self._ticket.worker, ok=False, text=trace)
        finally:
            self._garbage.close()
        assert self._outcome is not None
        return self._outcome

    def _cycle(self) -> None:
        look_at_ns = look_at_peers_ns = report_at_ns = 0
        while self._outcome is None:
            worked = self._worker.do_work() if self._worker is not None else 0
            now_ns = time.monotonic_ns()
            if now_ns >= look_at_ns or self._worker is None:
                look_at_ns = now_ns + LOOK_AT_CONTROL_EVERY_NS
                for message in self._control.poll():
                    self._obey(message)
                if self._control.driver_gone is not None:
                    self._outcome = Outcome(worker=self._ticket.worker, ok=False, text=self._control.driver_gone)
                self._tell_of_checkpoints()
                self._fed.tell(self._assignment)
                self._look_at_link()
            if now_ns >= look_at_peers_ns:
                look_at_peers_ns = now_ns + LOOK_AT_PEERS_EVERY_NS
                self._tell_of_dead_peers()
            if now_ns >= report_at_ns:
                report_at_ns = now_ns + REPORT_EVERY_NS
                self._report()
            if worked:
                self._garbage.busy()
                continue
            self._garbage.idle()
            self._send_all_rows()
            if self._worker is None:
                self._control.wait(IDLE_AT_MOST_S)
                continue
            # Not before it has begun: one without tasks has ended from the start.
            if self._worker.begun and self._worker.ended and not self._told_ended:
                self._told_ended = True
                self._report()
                self._control.send(Ended(assignment=self._assignment))
            self._worker.idle(IDLE_AT_MOST_S)

    def _tell_of_checkpoints(self) -> None:
        for news in () if self._worker is None else self._worker.checkpoint_news():
            said = {"assignment": self._assignment, "task": news.task, "epoch": news.epoch}
            if isinstance(news, Saved):
                self._control.send(TaskSaved(saved=news.saved, **said))
            else:
                self._control.send(TaskNotSaved(reason=news.reason, **said))

    def _tell_of_dead_peers(self) -> None:
        for worker in () if self._worker is None else self._worker.gone_peers():
            known = (worker, self._peers[worker].generation)
            if known not in self._told_gone:
                self._told_gone.add(known)
                self._control.send(PeerGone(worker=worker, generation=known[1]))

    def _look_at_link(self) -> None:
        if self._link.error is not None:
            raise RunError(self._link.error)
        lost = self._link.lost_frames - self._told_lost_frames
        if lost:
            self._told_lost_frames += lost
            self._control.send(LinkBroken(lost_frames=lost))

    def _obey(self, message: FromController) -> None:
        match message:
            case Admit() | Pulse() | Noted():
                pass
            case Deploy():
                self._deploy(message)
            case TasksEnded(tasks=tasks):
                self._mark_ended(tasks)
            case Begin():
                self._running.begin()
            case PeerChanged(peer=peer):
                self._told_ended = False  # it may have ended tasks to hear of again, and we to say so
                self._peers[peer.worker] = peer
                self._running.meet(_colleague(peer), self._way_to(peer))
            case PeerLost(worker=worker, generation=generation):
                self._running.lose(worker, generation)
            case PeerSilent(worker=worker, generation=generation, silent=silent):
                self._running.heard_of(worker, generation, silent=silent)
            case BeginEpoch(epoch=epoch, committed=committed, last=last):
                self._running.begin_epoch(epoch, committed, last=last)
            case Committed(epoch=epoch):
                self._running.committed(epoch)
                self._send_all_rows()  # before the next epoch, which is the last only if nothing is owed
                self._report()
            case RowsKept(task=task, arrivals=arrivals):
                self._running.rows_kept(task, arrivals)
            case CloseBatch():
                self._fed.close_batch(message)
            case EndFeed(component=component):
                self._fed.end(component)
            case Drain():
                self._running.drain()
                self._report()  # where its spouts are: who takes over emits what was under way, and no more
            case Stop():
                self._outcome = Outcome(worker=self._ticket.worker, ok=True)
            case Refuse(reason=reason):
                self._outcome = Outcome(worker=self._ticket.worker, ok=True, text=f"refused: {reason}")

    @property
    def _running(self) -> Worker:
        assert self._worker is not None, "the controller deploys before it begins, drains or changes peers"
        return self._worker

    def _deploy(self, deploy: Deploy) -> None:
        early: list[EarlyFrame] = []
        if self._worker is not None:  # everything is set back
            early = self._worker.intake.take_early_frames()
            self._close()
            self._worker, self._closed, self._told_ended = None, False, False
        self._assignment = deploy.assignment.number  # whatever fails from now on is of this one
        peers = self._peers = {peer.worker: peer for peer in deploy.peers}
        others = set(deploy.assignment.worker_of.values()) - {self._ticket.worker}
        ways = {worker: self._way_to(peers[worker]) if worker in peers else None for worker in others}
        store = self._store(deploy.checkpoint_url)
        self._deployment = Deployment(
            worker=self._ticket.worker,
            topology=from_bytes(deploy.topology),
            assignment=deploy.assignment,
            inbox=self._inbox,
            ways=ways,
            colleagues=map(_colleague, deploy.peers),
            settings=self._ticket.settings,
            resume={progress.task: progress for progress in deploy.resume},
            store=store,
            restore=deploy.restore,
            epoch=deploy.epoch,
            claim=deploy.claim,
            run=self._ticket.run,
            checkpoint="" if store is None else store.identity(),
        )
        self._worker = self._deployment.build()
        self._deployed = deploy
        self._mark_ended(deploy.ended_tasks)
        if deploy.care is not None:
            self._worker.be_careful(deploy.care, _ControllersNotes(self._control))
        self._worker.intake.take(early)
        self._fed.open(self._worker.spouts)
        self._garbage.settle()
        self._control.send(Ready(assignment=deploy.assignment.number, feeds=self._fed.places()))

    def _store(self, url: str | None) -> CheckpointStore | None:
        if url is None:
            return None
        store = CheckpointStore.open(url)
        store.join(self._ticket.run)
        return store

    def _mark_ended(self, tasks: tuple[int, ...]) -> None:
        """We replace a dead worker, and some of its sources had ended before: their end will not be sent again."""
        assert self._deployed is not None
        deploy = self._deployed
        component_of = {task.id: task.component for task in deploy.tasks}
        for bolt in self._running.bolts:
            for edge in deploy.edges:
                if edge.target != bolt.component:
                    continue
                for task in tasks:
                    if component_of[task] == edge.source:
                        bolt.accept(Arrival(edge=edge.id, source=task, marker=Marker(0, ends=True)))

    def _way_to(self, peer: Peer) -> FrameWay:
        return way_to(
            same_node=peer.node == self._ticket.node,
            ring_address=peer.ring_address,
            link_endpoint=peer.link_endpoint,
            keys=self._ticket.keys,
            settings=self._ticket.settings,
        )

    def _close(self) -> None:
        """Spark may use this process again, for something else: nothing may stay open in it."""
        if self._worker is not None and not self._closed:
            self._closed = True
            self._fed.close()
            self._worker.close()

    def _report(self) -> None:
        if self._worker is None or self._deployment is None:
            return
        self._control.send(report_of(self._worker))
        for failure, more in self._deployment.failures.take_fresh():
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
        self._send_all_rows()

    def _send_all_rows(self) -> None:
        for bolt in () if self._worker is None else self._worker.bolts:
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


def _colleague(peer: Peer) -> Colleague:
    return Colleague(worker=peer.worker, node=peer.node, generation=peer.generation)


class _ControllersNotes:
    """What the controller knows when this process is dead (a `penstock.worker.care.Notes`)."""

    def __init__(self, control: ControlClient) -> None:
        self._control = control

    def trying(self, task: int, tuples: Collection[int], *, alone: bool) -> None:
        self._control.confirm(Trying(task=task, tuples=tuple(tuples), alone=alone))

    def tried(self) -> None:
        self._control.send(Tried())
