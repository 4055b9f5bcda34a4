"""A run on real worker processes, without Spark: a host that starts them, and starts those anew that die."""

from __future__ import annotations

import contextlib
import secrets
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from penstock.control.agent import run_worker
from penstock.control.checkpoint_keeper import CheckpointKeeper
from penstock.control.controller import Controller
from penstock.control.events import Event, HostEnded
from penstock.control.instructions import Instruction
from penstock.control.keys import RunKeys
from penstock.control.metrics import RunMetrics
from penstock.control.server import ControlServer
from penstock.control.settings import RunPlan
from penstock.control.status import RunStatus
from penstock.control.ticket import Ticket
from penstock.plan.edges import edges_of, help_edges_of
from penstock.plan.schedulers.base import Scheduler
from penstock.plan.schedulers.even import EvenScheduler
from penstock.plan.shape import shape_of
from penstock.plan.tasks import tasks_of
from penstock.spark.guarantee import claimed_checkpoint
from penstock.spark.settings import RunSettings
from penstock.spark.summary import Summary
from penstock.topology.pinned import pinned_components
from penstock.topology.scaling import unscalable_components
from penstock.topology.shipping import to_bytes
from penstock.topology.topology import Topology
from tests.ring.patience import PATIENCE_S, wait_until


class ProcessHost:
    """Starts a worker as a process, and again if it dies; a `penstock.control.host.Host`."""

    def __init__(self, server: ControlServer, ticket: Any) -> None:
        self._server = server
        self._ticket = ticket
        self._lock = threading.Lock()
        self._jobs: dict[tuple[int, int], subprocess.Popen[bytes] | None] = {}
        self._ending: set[tuple[int, int]] = set()
        self._closed = False
        self._threads: list[threading.Thread] = []
        self.held: int | None = None

    def start_worker(self, worker: int, launch: int) -> None:
        with self._lock:
            if self._closed:  # the run goes on without us, and would start those anew that we end
                return
            self._jobs[worker, launch] = None
            thread = threading.Thread(target=self._keep, args=(worker, launch), name=f"worker-{worker}-{launch}")
            self._threads.append(thread)
            thread.start()

    def _keep(self, worker: int, launch: int) -> None:
        code = -1
        for attempt in range(1000):
            with self._lock:
                if (worker, launch) in self._ending:
                    break
                process = self._jobs[worker, launch] = subprocess.Popen(
                    [sys.executable, "-m", "tests.control.processes"], stdin=subprocess.PIPE
                )
            with contextlib.suppress(BrokenPipeError):
                process.communicate(msgspec.msgpack.encode(self._ticket(worker, launch, attempt)))
            code = process.wait()
            if code == 0:
                break
        self._server.post(HostEnded(worker=worker, launch=launch, error=f"exit code {code}"))

    def stop_worker(self, worker: int, launch: int) -> None:
        with self._lock:
            self._ending.add((worker, launch))
            process = self._jobs[worker, launch]
            if process is not None:
                process.kill()

    def hold_slots(self, count: int) -> None:
        self.held = count

    def close(self) -> None:
        with self._lock:
            self._closed = True
        for worker, launch in list(self._jobs):
            self.stop_worker(worker, launch)
        for thread in self._threads:
            thread.join()


MOST_WAITS = 5
"""How many times the usual patience a run may take that goes on."""


class ProcessRun:
    """A run: who takes part, and what came of it."""

    def __init__(self, topology: Topology, controller: Controller, server: ControlServer, host: ProcessHost) -> None:
        self._topology = topology
        self._controller = controller
        self.server = server
        self.host = host

    def status(self) -> RunStatus:
        return self.server.status()

    def metrics(self) -> RunMetrics:
        return self.server.metrics()

    def pid(self, worker: int) -> int:
        pid = self.status().workers[worker].pid
        assert pid is not None
        return pid

    def place(self, label: str) -> int | None:
        """The worker of a task."""
        (worker,) = (one.worker for one in self.server.metrics().tasks if f"{one.component}[{one.index}]" == label)
        return worker

    def await_notice(self, *texts: str) -> str:
        """Waits until a notice has all of these texts, and returns it."""

        def found() -> list[str]:
            return [notice for notice in self.status().notices if all(text in notice for text in texts)]

        wait_until(found, f"a notice with {texts}")
        return found()[0]

    def await_tuples(self, component: str, count: int = 1, *, patience_s: float = PATIENCE_S) -> None:
        """Waits until a component has processed so many more tuples. Its source must not end before."""
        wanted = self.processed(component) + count
        what = f"{component} processes {count} more tuples"
        wait_until(lambda: self.processed(component) >= wanted, what, patience_s=patience_s)

    def await_total(self, component: str, total: int, *, patience_s: float = PATIENCE_S) -> None:
        """Waits until a component has processed so many tuples in all, of a source that may have given them already."""
        what = f"{component} has processed {total} tuples"
        wait_until(lambda: self.processed(component) >= total, what, patience_s=patience_s)

    def processed(self, component: str) -> int:
        """How many tuples a component has processed so far."""
        return sum(one.processed for one in self.server.metrics().components if one.name == component)

    def await_all(self) -> None:
        """Waits until all workers are at work."""
        wait_until(lambda: all(one.state == "begun" for one in self.status().workers), "all work")

    def when_decision_is(self, state: str, act: Callable[[], None]) -> None:
        """Does something, once, when the last decision is in this state, however soon that is over.

        In the controller's thread, before the next event that it handles: so no state is missed that lasts at all.
        """
        handle, done = self._controller.handle, False

        def handle_after_acting(event: Event, now_s: float) -> list[Instruction]:
            nonlocal done
            if not done and (decisions := self._controller.status(now_s).decisions) and decisions[-1].state == state:
                done = True
                act()
            return handle(event, now_s)

        self._controller.handle = handle_after_acting  # type: ignore[method-assign]

    def summary(self, timeout_s: float = PATIENCE_S) -> Summary:
        """Waits for the end, for as long as anything happens.

        A lone worker that dies is missed after 15 s, and not before: a run with some deaths takes its time, and more on
        a busy machine.
        """
        seen, end = None, self.server.wait(timeout_s)
        for _ in range(MOST_WAITS):
            if end is not None:
                break
            status = self.status()
            so_far = (status.restarts, status.notices, [one.processed for one in self.server.metrics().components])
            assert so_far != seen, f"nothing has happened for {timeout_s:g} s: {status}"
            seen, end = so_far, self.server.wait(timeout_s)
        assert end is not None, f"not over after {MOST_WAITS * timeout_s:g} s: {self.status()}"
        error = getattr(end, "error", None)
        if error is not None:
            raise error
        return Summary(self._topology, end.summary)


@contextmanager
def processes(
    topology: Topology,
    *,
    workers: int,
    checkpoint: Path | None = None,
    scheduler: Scheduler = EvenScheduler(),  # noqa: B008 # frozen
    **given: Any,
) -> Iterator[ProcessRun]:
    """Runs a topology, exactly once if there is a checkpoint, and at least once if not and nothing else is said."""
    # A process that gets no turn for a second on a busy machine is not to be taken for one that was stopped.
    given.setdefault("detection_s", 10.0)
    given.setdefault("delivery", "at_least_once" if checkpoint is None else "exactly_once")
    settings = RunSettings.of(workers=workers, min_workers=None, given=given)
    shape = shape_of(topology)
    tasks = tasks_of(shape)
    pinned = pinned_components(topology)
    plan = RunPlan(
        run=secrets.token_hex(4),
        topology=topology.name,
        tasks=tasks,
        edges=edges_of(shape),
        help_edges=help_edges_of(shape),
        blob=to_bytes(topology),
        scheduler=scheduler,
        pinned={task.id: pinned[task.component] for task in tasks if task.component in pinned},
        unscalable=unscalable_components(topology),
    )
    keys = RunKeys.make()
    with contextlib.ExitStack() as stack:
        saved = None if checkpoint is None else claimed_checkpoint(topology, checkpoint, run=plan.run)
        if saved is not None:
            plan = msgspec.structs.replace(plan, checkpoint_url=saved.store.url, shape=saved.shape, start=saved.start)
        controller = Controller(plan, settings.control)
        server = stack.enter_context(ControlServer(controller, keys=keys))

        def ticket(worker: int, launch: int, attempt: int) -> Ticket:
            return Ticket(
                run=plan.run,
                worker=worker,
                launch=launch,
                attempt=attempt,
                endpoint=server.endpoint,
                server_public=keys.server.public,
                keys=keys.client,
                settings=settings.worker,
                node="here",
            )

        keeper = None
        if saved is not None:
            keeper = CheckpointKeeper(saved.store, run=plan.run, post=server.post)
            stack.callback(keeper.close)
        host = ProcessHost(server, ticket)
        stack.callback(host.close)
        server.launch(host, keeper)
        yield ProcessRun(topology, controller, server, host)


if __name__ == "__main__":
    outcome = run_worker(msgspec.msgpack.decode(sys.stdin.buffer.read(), type=Ticket))
    if outcome.text:
        sys.stderr.write(f"{outcome.text}\n")
