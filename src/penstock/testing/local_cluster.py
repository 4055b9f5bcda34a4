"""Several workers in one process, each with its own tasks, taking turns.

>>> from penstock.testing import CapturedSink, FedSpout, LocalCluster
>>> from penstock.topology.topology import Topology
>>> words, sink = FedSpout(fields=("word",)), CapturedSink()
>>> topo = Topology("passing-on")
>>> passed = topo.bolt("pass", lambda tup: tup, topo.spout("words", words).shuffle(), fields=("word",))
>>> _ = topo.bolt("sink", sink, passed.shuffle())
>>> with LocalCluster(topo, workers=3) as cluster:
...     words.feed(("blue",))
...     cluster.settle()
...     print(sink.values)
...     words.end()
...     cluster.settle()
...     print(cluster.ended)
[('blue',)]
True
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from types import TracebackType
from typing import Self

import msgspec

from penstock.control.peers import PeerLost
from penstock.control.protocol import BeginEpoch, BeginTrial
from penstock.control.trials import Trials
from penstock.flow.delivery import Delivery
from penstock.plan.assignment import Assignment
from penstock.plan.shape import shape_of
from penstock.plan.tasks import Task, tasks_of
from penstock.testing.fed_spout import FedSpout
from penstock.testing.gives_turns import GivesTurns
from penstock.testing.late_words import LateWords, Meeting, Preparation
from penstock.testing.local_checkpoints import LocalCheckpoints
from penstock.testing.local_moves import LocalMoves
from penstock.testing.memory import MemoryInbox, MemoryWay
from penstock.testing.move_requests import Wanted, moved, scaled
from penstock.testing.placement import placed, planned
from penstock.testing.record_keeper import RecordKeeper
from penstock.testing.result import Result
from penstock.testing.turns import InTurn, Shuffled, Turns
from penstock.testing.virtual_clock import VirtualClock
from penstock.topology.topology import Topology
from penstock.worker.company import Colleague
from penstock.worker.deployment import Deployment
from penstock.worker.resume import SpoutProgress
from penstock.worker.settings import WorkerSettings
from penstock.worker.tracked_spout import TrackedSpoutTask
from penstock.worker.worker import Worker

__all__ = ["LocalCluster"]

ASK_SPOUTS_EVERY_NS = 1_000_000
"""How often, on the virtual clock, a spout is asked again that had nothing."""

EPOCH_EVERY_NS = 1_000_000_000
"""How often, on the virtual clock, markers are sent where that is of use."""


class LocalCluster(GivesTurns):
    """Runs a topology in this process, step by step.

    Args:
        topology: what to run. It is checked first, but for whether it could travel to other processes.
        workers: how many; the tasks are shared out over them as by the scheduler ``even``.
        seed: in which order the workers get their turns, and which frames find their task free and are worked on where
            they are read: the same seed gives the same run. None: one by one, and every frame goes through a queue.
        clock: the clock to live by, else one of its own.
        delivery: what is promised when a tuple fails or a worker is killed.
        settings: how the workers are sized; small queues and windows bring out what happens when they are full.
        worker_of: the worker of each task by its id, to place the tasks otherwise.
        node_of: the node of each worker, where they are not all on one.
    """

    def __init__(
        self,
        topology: Topology,
        *,
        workers: int = 1,
        seed: int | None = None,
        clock: VirtualClock | None = None,
        delivery: Delivery = "at_least_once",
        settings: WorkerSettings | None = None,
        worker_of: Mapping[int, int] | None = None,
        node_of: Mapping[int, str] | None = None,
    ) -> None:
        topology.check(shipped=False)  # what a test puts in, such as a mock, need not be able to travel
        self._topology = topology
        self.clock = clock or VirtualClock()
        self._settings = msgspec.structs.replace(settings or WorkerSettings(), delivery=delivery)
        self._seed = seed or 0
        self._random = None if seed is None else Random(seed)
        self._epoch = 0
        self._draining = False
        self._progress: dict[int, SpoutProgress] = {}
        self._words = LateWords()
        self._moves = LocalMoves(self._words, self._preparation)
        self._wanted: Wanted | None = None
        self._trials = Trials()
        self._newest_number = 1
        self._deployments: dict[int, Deployment] = {}
        self._epoch_at_ns = self.clock.now_ns() + EPOCH_EVERY_NS
        self._turns: Turns = InTurn() if seed is None else Shuffled(seed)
        self._assignment = placed(topology, worker_of) if worker_of is not None else planned(topology, workers)
        self._tasks = tasks_of(shape_of(topology))
        self._keeper = RecordKeeper(topology)
        self._checkpoints = LocalCheckpoints(topology, self._tasks, self._words)
        self._checkpointing = self._checkpoints.policy
        self.parts = self._checkpoints.parts
        """Where tasks are saved, exactly once."""
        numbers = self._assignment.workers()
        self._node_of = node_of or {}
        self._generations = dict.fromkeys(numbers, 1)
        self._inboxes = {number: self._inbox() for number in numbers}
        self.workers: dict[int, Worker] = {}
        """The workers that live, by number."""
        try:
            for number in numbers:
                self._deploy(number)
        except BaseException:
            self._close_workers()
            raise
        for worker in self.workers.values():
            worker.begin()
        self.clock.attach(self)

    def _inbox(self) -> MemoryInbox:
        return MemoryInbox(capacity_bytes=self._settings.inbox_bytes, random=self._random)

    def begin_epoch(self) -> int:
        """Has the spouts send markers, as the controller does now and then; returns the number of the epoch."""
        self._epoch_at_ns = self.clock.now_ns() + EPOCH_EVERY_NS
        if self._settings.delivery == "exactly_once":
            if self._moves.under_way:
                return self._epoch
            all_ended = self._all_live and all(worker.ended for worker in self.workers.values())
            self._epoch = self._checkpoints.begin(self.workers, all_ended=all_ended, draining=self._draining)
            return self._epoch
        self._epoch += 1
        self._note_progress()
        self._words.tell_soon(self.workers, BeginEpoch(epoch=self._epoch))
        return self._epoch

    @property
    def _all_live(self) -> bool:
        return len(self.workers) == len(self._inboxes)

    @property
    def committed_epoch(self) -> int:
        """The newest epoch that is committed."""
        return self._checkpointing.committed

    @property
    def checkpoint_under_way(self) -> bool:
        """Whether an epoch was begun and is not committed yet."""
        return self._checkpointing.is_under_way

    @property
    def worker_of(self) -> dict[int, int]:
        """The worker of each task, by its id."""
        return dict(self._assignment.worker_of)

    def tasks_of(self, component: str) -> list[int]:
        """The ids of a component's tasks, by their index."""
        return [task.id for task in sorted(self._tasks, key=lambda task: task.index) if task.component == component]

    def move(self, worker_of: Mapping[int, int]) -> None:
        """Has tasks moved, by their ids, to workers that may be new; as soon as that can be begun. See `moving`."""
        self._want(moved(self._topology, (self._tasks, self._assignment.worker_of), worker_of))

    def scale(self, component: str, worker_of: Sequence[int]) -> None:
        """Has a bolt's tasks replaced by others, one on each of these workers; as soon as that can be begun."""
        self._want(scaled(self._topology, (self._tasks, self._assignment.worker_of), component, worker_of))

    def _want(self, wanted: Wanted) -> None:
        for worker in sorted({*wanted[1].values()} - self._inboxes.keys()):
            self._inboxes[worker] = self._inbox()
            self._generations[worker] = 1
            self._deploy(worker)
            self.workers[worker].begin()
        self._wanted = wanted
        self._begin_move_if_possible()

    @property
    def moving(self) -> bool:
        """Whether tasks are to be moved, or are being moved."""
        return self._wanted is not None or self._moves.under_way

    def _begin_move_if_possible(self) -> None:
        clean = self._settings.delivery != "exactly_once" or self._checkpoints.is_clean
        if self._wanted is None or self._moves.under_way or not self._all_live or not clean:
            return
        (tasks, worker_of), self._wanted = self._wanted, None
        if worker_of != self._assignment.worker_of:
            self._newest_number += 1
            assignment = Assignment(number=self._newest_number, worker_of=worker_of)
            self._moves.begin(self.workers, assignment, tasks, self._assignment.worker_of)

    def _preparation(self, number: int, assignment: Assignment, tasks: tuple[Task, ...]) -> Preparation:
        deployment = self._deployments[number]
        ways = {peer: MemoryWay(self._inboxes[peer]) for peer in self.workers if peer != number}
        new = {peer: way for peer, way in ways.items() if peer not in deployment.reachable}
        return Preparation(deployment, assignment, tasks, new, tuple(map(self._colleague, self.workers)))

    def _rewind(self) -> None:
        """Sets everything back to the last epoch, on all workers that were not killed."""
        self._words.forget()
        self._moves.forget()
        self._checkpointing.give_up()
        self._close_workers()
        numbers = [*self._inboxes]
        self._newest_number += 1
        self._assignment = Assignment(number=self._newest_number, worker_of=self._assignment.worker_of)
        self._epoch = self._checkpointing.committed
        self._inboxes = {number: self._inbox() for number in numbers}
        self.workers = {}
        for number in numbers:
            self._deploy(number)
        for worker in self.workers.values():
            worker.begin()
        if self._draining:
            self._epoch_at_ns = self.clock.now_ns()

    def drain(self) -> None:
        """Stops the spouts: what is inside flows out, and the topology ends."""
        self._draining = True
        if self._settings.delivery == "exactly_once":
            # With the next epoch, so that what they have emitted is not lost if somebody dies.
            self._epoch_at_ns = self.clock.now_ns()
            return
        for worker in self.workers.values():
            worker.drain()
        self._note_progress()

    def _note_progress(self) -> None:
        """Workers say now and then where their spouts are, and when they are drained. A checkpoint says it better."""
        if self._settings.delivery == "exactly_once":
            return
        for worker in self.workers.values():
            self._progress |= {spout.task: spout.progress() for spout in worker.spouts if not spout.waiting}

    @property
    def ended(self) -> bool:
        """Whether every task has ended."""
        committed = self._settings.delivery != "exactly_once" or self._checkpointing.is_finished
        return committed and self._all_live and all(worker.ended for worker in self.workers.values())

    def kill(self, worker: int) -> None:
        """Loses a worker, with its tasks and all that is inside, as a crash would."""
        lost = self.workers.pop(worker)
        self._keeper.forget(lost)
        self._inboxes[worker].close()
        self._words.died(worker)
        self._trials.forget(worker)
        if self._settings.delivery != "exactly_once":
            self._words.tell(self.workers, PeerLost(worker=worker, generation=self._generations[worker]))
            self._moves.died(worker, self.workers, self._progress)

    def restart(self, worker: int) -> None:
        """Starts a worker again that was killed: its tasks begin anew."""
        if self._settings.delivery == "exactly_once":
            self._rewind()
            return
        self._inboxes[worker] = self._inbox()
        self._generations[worker] += 1
        self._moves.restarted(worker)
        self._deploy(worker)
        others = [number for number in self.workers if number != worker]
        self._words.tell(others, Meeting(self._colleague(worker), MemoryWay(self._inboxes[worker])))
        self.workers[worker].begin()
        if self._draining:
            self.workers[worker].drain()

    def result(self) -> Result:
        """What has come of it so far."""
        return self._keeper.result()

    def close(self) -> None:
        """Closes every task."""
        self.clock.detach(self)
        self._close_workers()

    def due_ns(self) -> int | None:
        """See Watcher: the next tick, or the next time that spouts are asked."""
        ticks = [due for worker in self.workers.values() if (due := worker.next_due_ns) is not None]
        if any(
            not spout.ended and not (isinstance(spout.logic, FedSpout) and spout.logic.is_idle)
            for worker in self.workers.values()
            for spout in worker.spouts
        ):
            ticks.append(self.clock.now_ns() + ASK_SPOUTS_EVERY_NS)
        if self._wants_epochs:
            ticks.append(max(self._epoch_at_ns, self.clock.now_ns() + 1))
        return min(ticks, default=None)

    @property
    def _wants_epochs(self) -> bool:
        """Whether markers are of use: something is not done, or not committed."""
        if self._settings.delivery == "exactly_once":
            return not self._checkpointing.is_finished
        return any(
            spout.pending
            for worker in self.workers.values()
            for spout in worker.spouts
            if isinstance(spout, TrackedSpoutTask)
        )

    def _turn(self, number: int) -> bool:
        before = sum(map(len, self._inboxes.values()))
        worked = self.workers[number].do_work()
        worked += self._words.pass_turn(number, self.workers[number])
        self._look_at_move(number)
        self._look_at_trials(number)
        if self._settings.delivery != "at_most_once":
            self._keeper.fetch_rows(self.workers[number])
        if self._checkpoints.take_news(self.workers[number], self.workers):
            return True
        # Credit that is given back counts as no work, yet somebody waits for it.
        return worked > 0 or sum(map(len, self._inboxes.values())) != before

    def _look_at_move(self, number: int) -> None:
        switched = self._moves.look(number, self.workers[number], self.workers)
        if switched is not None:
            self._note_progress()
            self._assignment, self._tasks = switched
            self._checkpointing.has_tasks(self._tasks)
            for worker in self.workers:
                self._trials.forget(worker, stays=self._assignment.tasks_on(worker))
        self._begin_move_if_possible()

    def _look_at_trials(self, number: int) -> None:
        for spout in self.workers[number].spouts:
            for stage in spout.take_trial_stages():
                if spout.task not in self._assignment.tasks_on(number):
                    continue
                if stage == "wanted":
                    self._trials.wanted(spout.task, number)
                elif stage == "emitted":
                    self._epoch_at_ns = self.clock.now_ns()
                else:
                    self._trials.over(spout.task, number)
        begun = self._trials.begin()
        if begun is not None:
            task, worker = begun
            self._words.tell([worker], BeginTrial(task=task))

    def _deploy(self, number: int) -> None:
        deployment = Deployment(
            worker=number,
            topology=self._topology,
            assignment=self._assignment,
            tasks=self._tasks,
            former=self._moves.former,
            inbox=self._inboxes[number],  # type: ignore[arg-type] # its records are read like a ring's
            ways={peer: MemoryWay(inbox) for peer, inbox in self._inboxes.items() if peer != number},
            colleagues=map(self._colleague, self._inboxes),
            settings=self._settings,
            clock=self.clock,
            resume=self._progress,
            store=self.parts,
            restore=self._checkpointing.restores(),
            epoch=self._checkpointing.committed,
            saves_beside=False,
            # No two processes give their frames and broadcasts the same numbers.
            seed=hash((self._seed, number, self._generations[number], self._assignment.number)),
        )
        self._keeper.watch(deployment)
        self._deployments[number] = deployment
        self.workers[number] = deployment.build()
        self._keeper.keep(self.workers[number])

    def _colleague(self, number: int) -> Colleague:
        return Colleague(number, self._node_of.get(number, "here"), self._generations[number])

    def _close_workers(self) -> None:
        for worker in self.workers.values():
            worker.close()

    def _not_ended(self) -> str:
        tasks = (
            f"{running.component}[task {running.task} on worker {number}, {running.queued_tuples} waiting]"
            for number, worker in self.workers.items()
            for running in (*worker.spouts, *worker.bolts)
            if not running.ended
        )
        return ", ".join(tasks) or "a worker that was killed"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
