"""The executor's side of control: registers a worker, builds it when told what to run, and keeps its duty cycle going.

    run_worker(ticket)  ->  Register … Admit … Deploy … Ready … Begin … (work) … Ended … Stop  ->  Outcome

One thread does everything, the worker's own, and it sleeps in one place, at the inbox. What comes from elsewhere wakes
it there by the inbox's bell: a thread in C++ watches the control socket and the doors of peers, and rings. How a worker
is built is in deploying, and what it tells by itself in telling.
"""

from __future__ import annotations

import contextlib
import logging
import os
import platform
import socket
import time
import traceback
from collections.abc import Collection
from typing import assert_never

from penstock.control.client import ControlClient
from penstock.control.deploying import Deploying
from penstock.control.echo import Echo
from penstock.control.fed_tasks import FedTasks
from penstock.control.feeding import CloseBatch, EndFeed
from penstock.control.moving import Abandon, NotPrepared, Prepare, Prepared, Switch, TakeOver
from penstock.control.peers import PeerChanged, PeerLost, PeerSilent
from penstock.control.protocol import (
    Admit,
    Begin,
    BeginEpoch,
    BeginTrial,
    Committed,
    Deploy,
    Drain,
    Dying,
    Ended,
    Fatal,
    FromController,
    Left,
    Noted,
    Pulse,
    Ready,
    Refuse,
    Register,
    RowsKept,
    Stop,
    TasksEnded,
    Tried,
    Trying,
)
from penstock.control.slow_calls import SlowCalls
from penstock.control.telling import NewsTimes, Telling
from penstock.control.ticket import Outcome, Ticket
from penstock.errors import RunError
from penstock.transport.descriptor_watch import DescriptorWatch
from penstock.transport.links import LinkReceiver
from penstock.transport.ring import RingReader, RingSettings
from penstock.version import __version__
from penstock.worker.carriers import RingWay
from penstock.worker.early_frames import EarlyFrame
from penstock.worker.failures import USER_ERRORS, reason_of
from penstock.worker.garbage import GarbageKeeper
from penstock.worker.wakeup import Wakeup
from penstock.worker.worker import Worker

__all__ = ["run_worker"]

log = logging.getLogger(__name__)

REPORT_EVERY_NS = 500_000_000
LOOK_AT_PEERS_EVERY_NS = 250_000_000
"""Those of this node are watched: this is for what a watch cannot see."""
IDLE_AT_MOST_S = 0.1
"""The controller's messages ring the bell: a worker looks for them by the clock only because heartbeats are due."""
BACKED_UP_S = 0.01
"""The same while the driver does not take what it is told."""


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
        self._control = control
        self._deploying = Deploying(ticket, inbox)
        self._telling = Telling(control, link)
        self._worker: Worker | None = None
        self._told_ended = False
        self._closed = False
        self._outcome: Outcome | None = None
        self._assignment = 0
        self._preparing: int | None = None
        """The assignment that is being prepared, until the controller was told whether it can be."""
        self._fed = FedTasks(ticket, control.send)
        self._garbage = GarbageKeeper(time.monotonic_ns)
        self._news_times = NewsTimes()
        self._look_at_ns = self._look_at_peers_ns = self._report_at_ns = 0
        self._doors: dict[RingWay, int] = {}
        """What the watch has of peers. A number alone would not do: that of a closed door is soon another's."""

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
        except BaseException:  # the process ends with this: the driver would only see that it is dead
            with contextlib.suppress(RunError):  # it has not listened for a while: then it does not hear this, either
                self._control.send(Dying(traceback=traceback.format_exc()))
                self._control.flush()
            raise
        finally:
            self._garbage.close()
        assert self._outcome is not None
        return self._outcome

    def _cycle(self) -> None:
        with DescriptorWatch(self._inbox) as watch:
            watch.add(self._control.descriptor, Wakeup.CONTROL)
            self._watch = watch
            while self._outcome is None:
                if self._worker is None:
                    self._control.wait(IDLE_AT_MOST_S)
                    self._look_around(0, time.monotonic_ns())
                else:
                    self._turn(self._worker)

    def _turn(self, worker: Worker) -> None:
        """One turn of the worker, and of what goes with it. What nobody has rung for is looked at by the clock."""
        if self._control.wants_poll:
            worker.stir()
        worked = worker.turn(BACKED_UP_S if self._control.is_backed_up else IDLE_AT_MOST_S)
        now_ns = time.monotonic_ns()
        wakeups = self._inbox.take_bell()
        if wakeups or now_ns >= self._look_at_ns or self._control.wants_poll:
            self._look_around(wakeups, now_ns)
            if worker is not self._worker or self._outcome is not None:
                return
        is_restless = worker.is_restless
        if is_restless:
            self._garbage.busy(now_ns)
        else:
            self._garbage.idle(now_ns)
            self._telling.rows(worker)
        if self._may_have_news(worker) and (
            self._news_times.turned(worked, is_restless=is_restless, now_ns=now_ns)
            or (self._preparing is not None and not is_restless)
        ):
            self._tell_news(worker, now_ns)
        if is_restless:
            return
        # Not before it has begun: one without tasks has ended from the start.
        if not self._told_ended and worker.begun and worker.ended:
            self._told_ended = True
            self._report()
            self._control.send(Ended(assignment=self._assignment))

    def _look_around(self, wakeups: int, now_ns: int) -> None:
        """Hears the controller, tells it what is new, and looks after peers and reports where that is due."""
        messages = self._control.poll()
        self._look_at_ns = now_ns + int((BACKED_UP_S if self._control.is_backed_up else IDLE_AT_MOST_S) * 1e9)
        for message in messages:
            self._obey(message)
        if messages:
            self._watch_doors()
        if self._worker is not None and (messages or wakeups):
            self._worker.stir()  # whoever has rung may have done so right after its task had its turn
        if wakeups & Wakeup.CONTROL:
            self._watch.rearm(self._control.descriptor)
        if self._control.driver_gone is not None:
            self._outcome = Outcome(worker=self._ticket.worker, ok=False, text=self._control.driver_gone)
        if self._worker is not None:
            self._tell_news(self._worker, now_ns)
            if wakeups & Wakeup.PEER or now_ns >= self._look_at_peers_ns:
                self._look_at_peers_ns = now_ns + LOOK_AT_PEERS_EVERY_NS
                self._telling.dead_peers(self._worker, self._deploying.peers)
        if now_ns >= self._report_at_ns:
            self._report_at_ns = now_ns + REPORT_EVERY_NS
            self._report()

    def _may_have_news(self, worker: Worker) -> bool:
        return worker.is_eventful or self._fed.is_in_use or self._preparing is not None

    def _tell_news(self, worker: Worker, now_ns: int) -> None:
        self._news_times.told(now_ns)
        self._telling.checkpoints(worker, self._assignment)
        self._telling.moves(worker)
        self._telling.trials(worker)
        self._tell_of_preparing(worker)
        self._fed.tell(self._assignment)
        self._telling.lost_frames()

    def _watch_doors(self) -> None:
        """The kernel closes the door of a peer on this node when its process dies."""
        doors = {} if self._worker is None else self._worker.doors
        for way in self._doors.keys() - doors.keys():
            self._watch.remove(self._doors[way])
        for way in doors.keys() - self._doors.keys():
            self._watch.add(doors[way], Wakeup.PEER)
        self._doors = doors

    def _obey(self, message: FromController) -> None:
        match message:
            case Admit() | Pulse() | Noted():
                pass
            case Deploy():
                self._deploy(message)
            case TasksEnded(tasks=tasks):
                self._deploying.mark_ended(self._running, tasks)
                self._running.outlive(tasks)
            case Begin():
                self._running.begin()
            case PeerChanged(peer=peer):
                self._told_ended = False  # it may have ended tasks to hear of again, and we to say so
                self._deploying.meet(self._running, peer)
            case PeerLost(worker=worker, generation=generation):
                self._running.lose(worker, generation)
            case PeerSilent(worker=worker, generation=generation, silent=silent):
                self._running.heard_of(worker, generation, silent=silent)
            case BeginEpoch(epoch=epoch, committed=committed, last=last):
                self._running.begin_epoch(epoch, committed, last=last)
            case BeginTrial(task=task):
                self._running.begin_trial(task)
            case Committed(epoch=epoch):
                self._running.committed(epoch)
                self._telling.rows(self._running)  # before the next epoch, which is the last only if nothing is owed
                self._report()
            case RowsKept(task=task, arrivals=arrivals):
                self._running.rows_kept(task, arrivals)
            case Prepare():
                self._prepare(message)
            case Switch():
                self._deploying.switch(self._running, message)
                self._assignment, self._told_ended = message.assignment, False
            case Abandon(assignment=assignment):
                self._preparing = None
                self._running.moving.abandon(assignment)
            case TakeOver(task=task, worker=worker, resume=progress):
                self._running.take_over(task, worker, progress)
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
            case _:
                assert_never(message)

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
        self._preparing = None
        self._assignment = deploy.assignment.number  # whatever fails from now on is of this one
        self._worker = self._deploying.build(deploy)
        if deploy.care is not None:
            self._worker.be_careful(deploy.care, _ControllersNotes(self._control))
        self._worker.intake.take(early)
        self._fed.open(self._worker.spouts)
        self._garbage.settle()
        self._control.send(Ready(assignment=deploy.assignment.number, feeds=self._fed.places()))

    def _prepare(self, prepare: Prepare) -> None:
        number = prepare.assignment.number
        try:
            self._deploying.prepare(prepare)
        except USER_ERRORS as error:
            self._control.send(NotPrepared(assignment=number, reason=reason_of(error)))
        else:
            self._preparing = number

    def _tell_of_preparing(self, worker: Worker) -> None:
        if self._preparing is None:
            return
        if worker.moving.trouble is not None:
            self._control.send(NotPrepared(assignment=self._preparing, reason=worker.moving.trouble))
            worker.moving.abandon(self._preparing)
            self._preparing = None
        elif worker.moving.is_prepared:
            self._control.send(Prepared(assignment=self._preparing))
            self._preparing = None

    def _close(self) -> None:
        """Spark may use this process again, for something else: nothing may stay open in it."""
        if self._worker is not None and not self._closed:
            self._closed = True
            self._fed.close()
            self._worker.close()

    def _report(self) -> None:
        if self._worker is not None:
            self._telling.report(self._worker, self._deploying.failures)


class _ControllersNotes:
    """What the controller knows when this process is dead (a `penstock.worker.care.Notes`)."""

    def __init__(self, control: ControlClient) -> None:
        self._control = control

    def trying(self, task: int, tuples: Collection[int], *, alone: bool) -> None:
        self._control.confirm(Trying(task=task, tuples=tuple(tuples), alone=alone))

    def tried(self) -> None:
        self._control.send(Tried())
