"""The driver's end of control: a thread that listens, asks the controller, and does what it says.

Thin on purpose: what is decided is decided by the controller. This file knows sockets, threads and the clock.
"""

from __future__ import annotations

import itertools
import logging
import os
import threading
import traceback
from collections import OrderedDict
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from queue import SimpleQueue
from types import TracebackType
from typing import Self, assert_never

import zmq

from penstock.control.attention import AttentiveClock
from penstock.control.checkpoint_keeper import CheckpointKeeper
from penstock.control.codec import decode_to_controller, encode
from penstock.control.controller import Controller
from penstock.control.events import (
    Arrived,
    Deserted,
    EpochCommitted,
    EpochNotCommitted,
    Event,
    FeedFailed,
    FeedOver,
    HostEnded,
    HostFailed,
    Launch,
    Proposed,
    Severed,
    Tick,
    WorkersWanted,
)
from penstock.control.host import Host
from penstock.control.instructions import (
    CommitEpoch,
    Fail,
    Finish,
    HoldSlots,
    Instruction,
    SendTo,
    StartWorker,
    StopWorker,
)
from penstock.control.keys import RunKeys
from penstock.control.load_keeper import LoadKeeper
from penstock.control.numbering import Numbering
from penstock.control.protocol import Answer, Ping, Question
from penstock.control.questions import Asker
from penstock.control.scheduling import Declined, KeepChoice, KeepLoad, ScheduleOutcome, StoreTrouble
from penstock.control.wire import bound_router, endpoint_of
from penstock.errors import ProtocolError, RunError
from penstock.transport.gate import Gate

__all__ = ["ControlServer"]

log = logging.getLogger(__name__)

_TICK_EVERY_S = 0.2
# A pause of our own beyond this does not count as silence of the others.
_ATTENTION_S = 0.5
# How many messages, and strangers at the gate, are taken before the others and the clock have their turn again.
_MOST_AT_ONCE = 256
# Connections whose numbering is remembered, the last heard first. Workers are heard twice a second; what falls out at
# the end are command lines that asked something and went.
_MOST_CONNECTIONS = 4096
# What connections of this process are called. Others choose their names themselves, and must not take one of these.
_LOCAL = b"local:"


class ControlServer(Asker):
    """Serves one run: bound when made, running from `launch` until `close`.

    The endpoint is known before anything starts, so that it can be given to the workers.
    """

    def __init__(
        self,
        controller: Controller,
        *,
        keys: RunKeys,
        bind_host: str = "127.0.0.1",
        public_host: str | None = None,
    ) -> None:
        self._controller = controller
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._gate = Gate(self._context, keys.client.public)
        try:
            self._router, port = bound_router(self._context, gate=self._gate, keys=keys, bind_host=bind_host)
        except zmq.ZMQError as error:
            self._gate.close()
            self._context.term()
            message = f"the controller cannot listen on {bind_host!r}: {error}"
            raise RunError(message) from error
        self.endpoint = endpoint_of(public_host or bind_host, port)
        self._host: Host | None = None
        self._keeper: CheckpointKeeper | None = None
        self._load_keeper: LoadKeeper | None = None
        self._thread: threading.Thread | None = None
        self._numberings: OrderedDict[bytes, Numbering] = OrderedDict()
        self._deserted: list[bytes] = []
        self._posted: SimpleQueue[Event] = SimpleQueue()
        self._bell = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._bell_lock = threading.Lock()
        self._closed = False
        self._call_numbers = itertools.count()
        self._calls: dict[bytes, Future[Answer]] = {}
        self._over = threading.Event()
        self._end: Finish | Fail | None = None
        self._crash: str | None = None

    # ---- from any thread

    def launch(self, host: Host, keeper: CheckpointKeeper | None = None, load_keeper: LoadKeeper | None = None) -> None:
        """Starts the run: the host is asked for workers."""
        self._host, self._keeper, self._load_keeper = host, keeper, load_keeper
        self._thread = threading.Thread(target=self._serve, name="penstock-control", daemon=True)
        self.post(Launch())
        self._thread.start()

    def post(
        self,
        event: HostEnded
        | HostFailed
        | EpochCommitted
        | EpochNotCommitted
        | FeedOver
        | FeedFailed
        | Proposed
        | Declined
        | StoreTrouble
        | WorkersWanted
        | Launch
        | Arrived,
    ) -> bool:
        """Tells the controller something: how a host says what became of its workers. False if this is closed."""
        with self._bell_lock:
            if self._closed:
                return False
            self._posted.put(event)
            os.eventfd_write(self._bell, 1)
            return True

    def ask(self, question: Question, *, timeout_s: float = 10.0) -> Answer:
        """Asks the controller; RunError if there is no answer."""
        connection = _LOCAL + str(next(self._call_numbers)).encode()
        call = self._calls[connection] = Future()
        try:
            running = self._thread is not None and self._thread.is_alive()
            if not running or not self.post(Arrived(connection=connection, message=question)):
                message = f"the controller at {self.endpoint} is not running"
                raise RunError(message)
            return call.result(timeout_s)
        except FutureTimeoutError:
            message = f"the controller at {self.endpoint} did not answer {question} within {timeout_s:g} s"
            raise RunError(message) from None
        finally:
            del self._calls[connection]

    def wait(self, timeout_s: float | None = None) -> Finish | Fail | None:
        """Waits until the run is over; None if it is not in time. RunError if the controller itself broke down."""
        self._over.wait(timeout_s)
        if self._crash is not None:
            message = f"the controller at {self.endpoint} broke down:\n{self._crash}"
            raise RunError(message)
        return self._end

    def close(self) -> None:
        """Ends the thread and closes all connections. Workers that are still there will leave by themselves."""
        with self._bell_lock:
            if self._closed:
                return
            self._closed = True
            os.eventfd_write(self._bell, 1)
        if self._thread is not None:
            self._thread.join()
        self._router.close()
        self._gate.close()
        self._context.term()
        os.close(self._bell)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # ---- the thread

    def _serve(self) -> None:
        try:
            self._listen()
        except Exception:  # nobody else would ever hear of it
            self._crash = traceback.format_exc()
            log.exception("the controller at %s broke down", self.endpoint)
        finally:
            self._over.set()
            for call in list(self._calls.values()):
                if not call.done():
                    call.set_exception(RunError(f"the controller at {self.endpoint} has stopped"))

    def _listen(self) -> None:
        poller = zmq.Poller()
        for source in (self._router, self._gate.socket, self._bell):
            poller.register(source, zmq.POLLIN)
        clock = AttentiveClock(most_s=_ATTENTION_S)
        tick_at_s = 0.0
        while not self._closed:
            now_s = clock.now_s()
            poller.poll(max(0, round((tick_at_s - now_s) * 1000)))
            now_s = clock.now_s()
            self._answer_at_gate()
            self._take_posted(now_s)
            self._take_arrived(now_s)
            # Last, so that nobody is judged silent whose word lies here unread.
            if now_s >= tick_at_s:
                tick_at_s = now_s + _TICK_EVERY_S
                self._handle(Tick(), now_s)
                deserted, self._deserted = self._deserted, []
                for connection in deserted:
                    self._handle(Deserted(connection=connection), now_s)

    def _answer_at_gate(self) -> None:
        for _ in range(_MOST_AT_ONCE):
            if not self._gate.answer():
                return

    def _take_posted(self, now_s: float) -> None:
        try:
            os.eventfd_read(self._bell)
        except BlockingIOError:
            return
        while not self._posted.empty():
            self._handle(self._posted.get(), now_s)

    def _take_arrived(self, now_s: float) -> None:
        for _ in range(_MOST_AT_ONCE):
            try:
                connection, *parts = self._router.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                return
            self._handle(self._event_of(connection, parts), now_s)

    def _event_of(self, connection: bytes, parts: list[bytes]) -> Event:
        if connection.startswith(_LOCAL):
            return Severed(connection=connection, reason=f"a name that is not for others: {connection!r}")
        if len(parts) != 2:
            return Severed(connection=connection, reason=f"a message has 2 parts, got {len(parts)}")
        try:
            message = decode_to_controller(parts[1])
        except ProtocolError as error:
            return Severed(connection=connection, reason=str(error))
        objection = self._numbering(connection).objection(parts[0], message)
        if objection is not None:
            return Severed(connection=connection, reason=objection)
        return Arrived(connection=connection, message=message)

    def _numbering(self, connection: bytes) -> Numbering:
        numbering = self._numberings.setdefault(connection, Numbering())
        self._numberings.move_to_end(connection)
        if len(self._numberings) > _MOST_CONNECTIONS:
            self._numberings.popitem(last=False)
        return numbering

    def _handle(self, event: Event, now_s: float) -> None:
        for instruction in self._controller.handle(event, now_s):
            self._do(instruction)

    def _do(self, instruction: Instruction) -> None:
        match instruction:
            case SendTo():
                self._send(instruction)
            case StartWorker() | StopWorker():
                self._ask_host(instruction)
            case HoldSlots():
                assert self._host is not None
                self._host.hold_slots(instruction.count)
            case CommitEpoch():
                assert self._keeper is not None
                self._keeper.commit(instruction.manifest)
            case KeepLoad() | KeepChoice() | ScheduleOutcome():
                if self._load_keeper is not None:
                    self._load_keeper.keep(instruction)
            case Finish() | Fail():
                self._end = instruction
                self._over.set()
            case _:
                assert_never(instruction)

    def _send(self, instruction: SendTo) -> None:
        connection, message = instruction.connection, instruction.message
        if connection.startswith(_LOCAL):
            call = self._calls.get(connection)
            if call is not None and isinstance(message, Answer):
                call.set_result(message)
            return
        stamp = self._numbering(connection).stamp(message)
        try:
            self._router.send_multipart([connection, stamp, encode(message)], zmq.NOBLOCK)
        except (zmq.ZMQError, OverflowError) as error:
            # It is gone, or does not keep up; or workers have reported counts whose sum is too large to be true, and to
            # be sent. If it lives, it will miss this number, and leave.
            log.debug("%s did not reach %s: %s", type(message).__name__, connection.hex(), error)
            if isinstance(message, Ping) and isinstance(error, zmq.ZMQError) and error.errno == zmq.EHOSTUNREACH:
                self._deserted.append(connection)

    def _ask_host(self, instruction: StartWorker | StopWorker) -> None:
        assert self._host is not None
        worker, launch = instruction.worker, instruction.launch
        try:
            if isinstance(instruction, StartWorker):
                self._host.start_worker(worker, launch)
            else:
                self._host.stop_worker(worker, launch)
        except Exception:
            log.exception("the host did not %s", instruction)
            if isinstance(instruction, StartWorker):
                self.post(HostEnded(worker=worker, launch=launch, error=traceback.format_exc()))
