"""From what the controller says is to run to a worker that runs it, and to the ways to all others."""

from __future__ import annotations

from penstock.checkpoint.store import CheckpointStore
from penstock.control.moving import Prepare, Switch
from penstock.control.peers import Peer
from penstock.control.protocol import Deploy
from penstock.control.ticket import Ticket
from penstock.plan.edges import Edge
from penstock.plan.tasks import Task
from penstock.topology.shipping import from_bytes
from penstock.transport.ring import RingReader
from penstock.worker.arrival import Arrival, Marker
from penstock.worker.carriers import FrameWay
from penstock.worker.company import Colleague
from penstock.worker.deployment import Deployment
from penstock.worker.failures import Failures
from penstock.worker.peers import way_to
from penstock.worker.worker import Worker

__all__ = ["Deploying"]


class Deploying:
    """Builds this process's worker, each time anew that everything is set back."""

    def __init__(self, ticket: Ticket, inbox: RingReader) -> None:
        self._ticket = ticket
        self._inbox = inbox
        self._deployment: Deployment | None = None
        self._tasks: tuple[Task, ...] = ()
        self._edges: tuple[Edge, ...] = ()
        self._prepared: Prepare | None = None
        self.peers: dict[int, Peer] = {}
        """The other workers as we know them, and this one."""

    @property
    def failures(self) -> Failures:
        """What user code has raised since it was deployed."""
        assert self._deployment is not None
        return self._deployment.failures

    def build(self, deploy: Deploy) -> Worker:
        """The worker, with its tasks open. What a task's `open` raises is raised."""
        self.peers = {peer.worker: peer for peer in deploy.peers}
        others = {*deploy.assignment.worker_of.values(), *deploy.former.values()} - {self._ticket.worker}
        ways = {worker: self._way_to(self.peers[worker]) if worker in self.peers else None for worker in others}
        store = self._store(deploy.checkpoint_url)
        self._deployment = Deployment(
            worker=self._ticket.worker,
            topology=from_bytes(deploy.topology),
            assignment=deploy.assignment,
            tasks=deploy.tasks,
            former=deploy.former,
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
        worker = self._deployment.build()
        self._tasks, self._edges, self._prepared = deploy.tasks, deploy.edges, None
        self.mark_ended(worker, deploy.ended_tasks)
        worker.outlive([task for task in deploy.ended_tasks if deploy.assignment.worker_of[task] not in self.peers])
        return worker

    def prepare(self, prepare: Prepare) -> None:
        """Builds what comes by another assignment. What a task's `open` raises is raised, and nothing is prepared."""
        assert self._deployment is not None
        self.peers |= {peer.worker: peer for peer in prepare.peers}
        others = {peer.worker: peer for peer in prepare.peers if peer.worker != self._ticket.worker}
        unreached = others.keys() - self._deployment.reachable
        self._deployment.prepare(
            assignment=prepare.assignment,
            tasks=prepare.tasks,
            ways={worker: self._way_to(others[worker]) for worker in unreached},
            colleagues=map(_colleague, prepare.peers),
        )
        self._prepared = prepare

    def switch(self, worker: Worker, switch: Switch) -> None:
        """What was prepared holds."""
        worker.moving.switch(switch.assignment)
        assert self._prepared is not None
        self._tasks, self._prepared = self._prepared.tasks, None

    def meet(self, worker: Worker, peer: Peer) -> None:
        """A peer is another process now."""
        self.peers[peer.worker] = peer
        worker.meet(_colleague(peer), self._way_to(peer))

    def mark_ended(self, worker: Worker, tasks: tuple[int, ...]) -> None:
        """We replace a dead worker, and some of its sources had ended before: their end will not be sent again."""
        component_of = {task.id: task.component for task in self._tasks}
        for bolt in worker.bolts:
            for edge in self._edges:
                if edge.target != bolt.component:
                    continue
                for task in tasks:
                    if component_of[task] == edge.source:
                        bolt.accept(Arrival(edge=edge.id, source=task, marker=Marker(0, ends=True)))

    def _store(self, url: str | None) -> CheckpointStore | None:
        if url is None:
            return None
        store = CheckpointStore.open(url)
        store.join(self._ticket.run)
        return store

    def _way_to(self, peer: Peer) -> FrameWay:
        return way_to(
            same_node=peer.node == self._ticket.node,
            ring_address=peer.ring_address,
            link_endpoint=peer.link_endpoint,
            keys=self._ticket.keys,
            settings=self._ticket.settings,
        )


def _colleague(peer: Peer) -> Colleague:
    return Colleague(worker=peer.worker, node=peer.node, generation=peer.generation)
