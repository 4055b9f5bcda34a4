"""A model of a run under pressure: workers with the real policies, queues that are numbers, and a slow, lossy post."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection
from random import Random

from penstock.flow.helping import Answer, Helping
from penstock.flow.pressure import Pressure, Told
from penstock.flow.watermarks import Gauge, Marks

MARKS = Marks(high_tuples=8, low_share=0.5)


class Shape:
    """A random topology: tasks of components, and edges between components, from lower numbers to higher ones."""

    def __init__(self, draw: Random) -> None:
        self.component_of: dict[int, int] = {}
        count = draw.randrange(2, 6)
        for component in range(count):
            for _ in range(draw.randrange(1, 4)):
                self.component_of[len(self.component_of)] = component
        pairs = [(a, b) for b in range(1, count) for a in range(b)]
        self.edges = {edge: pair for edge, pair in enumerate(pairs) if pair[1] == pair[0] + 1 or draw.random() < 0.3}
        self.helpable = {edge for edge in self.edges if draw.random() < 0.7}

    def sources(self, task: int) -> set[int]:
        feeding = {source for source, target in self.edges.values() if target == self.component_of[task]}
        return {other for other, component in self.component_of.items() if component in feeding}

    def edges_between(self, source: int, target: int) -> set[int]:
        pair = (self.component_of[source], self.component_of[target])
        return {edge for edge, ends in self.edges.items() if ends == pair}


class ModelWorker:
    """One worker: what it knows of its surroundings, and its policies."""

    def __init__(self, number: int, run: ModelRun) -> None:
        self.number = number
        self._run = run
        self.assignment = run.assignment
        self.worker_of = dict(run.worker_of)
        sources = {edge: str(source) for edge, (source, _) in run.shape.edges.items()}
        self.pressure = Pressure(
            worker=number,
            surroundings=self,
            helping=Helping(sources, step=run.step),
            post=self,
            now_ns=lambda: run.time_ns,
        )
        self.gauges: defaultdict[int, Gauge] = defaultdict(lambda: Gauge(MARKS))

    @property
    def tasks(self) -> list[int]:
        return [task for task, worker in self.worker_of.items() if worker == self.number]

    # ---- Surroundings

    def feeding(self, task: int) -> Collection[int]:
        return {self.worker_of[source] for source in self._run.shape.sources(task)}

    def askable(self, task: int) -> Collection[int]:
        shape = self._run.shape
        able = {source for source in shape.sources(task) if shape.edges_between(source, task) & shape.helpable}
        return {self.worker_of[source] for source in able} - {self.number}

    def help_edges(self, target: int) -> Collection[int]:
        shape = self._run.shape
        mine = [source for source in shape.sources(target) if self.worker_of[source] == self.number]
        return {edge for source in mine for edge in shape.edges_between(source, target)} & shape.helpable

    def is_fed(self, target: int) -> bool:
        return self.number in self.feeding(target)

    # ---- Post

    def tell(self, worker: int, told: Told) -> None:
        assert worker in self.feeding(told.task), "only who feeds a task is told of it"
        self._run.send(self.number, worker, (told, self.assignment))

    def answer(self, answer: Answer) -> None:
        self._run.send(self.number, answer.worker, answer)

    # ---- what it does

    def look(self) -> None:
        """A turn: reads its gauges."""
        for task in self.tasks:
            queued, gauge = self._run.queued[task], self.gauges[task]
            if gauge.read(queued) or self.pressure.is_pressed(task):
                component = str(self._run.shape.component_of[task])
                self.pressure.read(
                    task,
                    component,
                    is_pressed=gauge.is_pressed,
                    is_overfull=gauge.is_overfull(queued),
                    is_stalled=not self._run.runs(task),
                )

    def switch(self) -> None:
        self.assignment, self.worker_of = self._run.assignment, dict(self._run.worker_of)
        self.pressure.moved()

    def take(self, sender: int, message: object) -> None:
        if isinstance(message, Answer):
            self.pressure.answered(sender, message.target, message.episode, yes=message.yes)
        elif message == "met":
            self.pressure.met(sender)
        else:
            assert isinstance(message, tuple)
            self.pressure.heard(sender, *message)

    def may_send_to(self, target: int) -> bool:
        return target not in self.pressure.helping.stopping


class ModelRun:
    """All workers, all queues, and what is under way between them."""

    def __init__(self, draw: Random) -> None:
        self.draw = draw
        self.time_ns = 0
        self.step = draw.choice([0.1, 0.5, 0.99])
        self.shape = Shape(draw)
        self.count = draw.randrange(1, 5)
        self.assignment = 1
        self.worker_of = {task: draw.randrange(self.count) for task in self.shape.component_of}
        self.queued: defaultdict[int, int] = defaultdict(int)
        self.under_way: defaultdict[tuple[int, int], deque[object]] = defaultdict(deque)
        self.workers = {number: ModelWorker(number, self) for number in range(self.count)}
        self.dead: set[int] = set()
        self.unmet: list[tuple[int, int]] = []
        """Who has still to meet whom, that was restarted."""
        self.unaware: list[tuple[int, int]] = []
        """Who has still to hear whose death."""

    def send(self, sender: int, receiver: int, message: object) -> None:
        if receiver not in self.dead:
            self.under_way[sender, receiver].append(message)

    def runs(self, task: int) -> bool:
        """Whether nobody has this task stopped."""
        worker = self.workers.get(self.worker_of[task])
        if worker is None:
            return False
        fed = [other for other in self.shape.component_of if task in self.shape.sources(other)]
        return all(worker.may_send_to(target) for target in fed)

    def deliver(self) -> bool:
        """One message, of any pair that has some."""
        pairs = [pair for pair, messages in self.under_way.items() if messages and pair[1] not in self.dead]
        if not pairs:
            return False
        pair = self.draw.choice(pairs)
        message = self.under_way[pair].popleft()
        self.workers[pair[1]].take(pair[0], message)
        return True

    def emit(self) -> None:
        """A task that runs works: takes from its queue, and gives to those that it feeds. Spouts have no end."""
        task = self.draw.choice([*self.shape.component_of])
        if not self.runs(task):
            return
        if self.shape.sources(task):
            if not self.queued[task]:
                return
            self.queued[task] -= 1
        for target in self.shape.component_of:
            if task in self.shape.sources(target):
                self.queued[target] += self.draw.randrange(4)

    def kill(self) -> None:
        living = [*(self.workers.keys() - self.dead)]
        if len(living) < 2 or self.dead or self.unmet or self.unaware:
            return
        victim = self.draw.choice(sorted(living))
        self.dead.add(victim)
        del self.workers[victim]
        for pair, messages in self.under_way.items():
            if pair[1] == victim:
                messages.clear()
            elif pair[0] == victim:  # some had left it
                for _ in range(self.draw.randrange(len(messages) + 1)):
                    messages.pop()
        for task, worker in self.worker_of.items():
            if worker == victim:
                self.queued[task] = 0
        self.unaware = [(other, victim) for other in self.workers]

    def notice(self) -> None:
        if self.unaware:
            other, victim = self.unaware.pop()
            self.workers[other].pressure.lost(victim)

    def restart(self) -> None:
        """As the controller: when everybody has heard of the death. Others meet it one by one; it may speak before."""
        if not self.dead or self.unaware:
            return
        (number,) = self.dead
        self.dead.clear()
        for pair in [*self.under_way]:
            if number in pair:
                del self.under_way[pair]
        self.workers[number] = ModelWorker(number, self)
        self.unmet = [(other, number) for other in self.workers if other != number]

    def meet(self) -> None:
        if self.unmet:
            other, number = self.unmet.pop()
            self.workers[other].pressure.lost(number)
            self.workers[other].pressure.met(number)
            self.send(other, number, "met")

    def move(self) -> None:
        if self.dead or self.unmet or any(worker.assignment != self.assignment for worker in self.workers.values()):
            return
        self.assignment += 1
        task = self.draw.choice([*self.worker_of])
        self.worker_of[task] = self.draw.randrange(self.count)

    def switch(self) -> None:
        late = [worker for worker in self.workers.values() if worker.assignment != self.assignment]
        if late:
            self.draw.choice(late).switch()

    def look(self) -> None:
        self.time_ns += 1
        self.draw.choice([*self.workers.values()]).look()

    def calm_down(self) -> None:
        """No more is fed: everything under way arrives, and every queue empties, one tuple a turn."""
        while self.unaware:
            self.notice()
        self.restart()
        while self.unmet:
            self.meet()
        for _ in range(len(self.workers)):
            self.switch()
        for _ in range(3000):
            while self.deliver():
                pass
            for worker in self.workers.values():
                worker.look()
            if not any(self.under_way.values()) and not any(self.queued.values()):
                return
            for task in [*self.queued]:
                if self.queued[task] and self.runs(task):
                    self.queued[task] -= 1
        message = f"stuck with {dict(self.queued)}"
        raise AssertionError(message)
