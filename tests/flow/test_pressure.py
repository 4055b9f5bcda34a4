"""Backpressure and help between workers, whatever happens in which order."""

import random

from hypothesis import given
from hypothesis import strategies as st

from penstock.flow.pressure import Told
from penstock.flow.relief import ReliefState, Word
from tests.flow.pressure_model import ModelRun, ModelWorker
from tests.tries import tried

USUAL = ["emit"] * 12 + ["look"] * 6 + ["deliver"] * 6
RARE = ["kill", "notice", "notice", "restart", "meet", "meet", "move", "switch", "switch"]


def check_everywhere(run: ModelRun) -> None:
    for worker in run.workers.values():
        check(worker, run)


def check(worker: ModelWorker, run: ModelRun) -> None:
    pressure, helping, shape = worker.pressure, worker.pressure.helping, run.shape
    assert all(0 <= ratio < 1 for ratio in helping.ratio.values())
    for target in helping.stopping:
        assert worker.is_fed(target), "nobody is stopped for a task that it does not feed"
    assert helping.stopping.isdisjoint(helping.granted)
    for task, relief in pressure.reliefs.items():
        assert relief.helping.isdisjoint(relief.stopped)
        assert worker.number not in relief.helping
        if relief.state is ReliefState.FLOWING:
            assert not relief.helping | relief.stopped
        if relief.helping or relief.state is ReliefState.ASKED:
            for edge, (source, _) in shape.edges.items():
                if source == shape.component_of[task]:
                    assert helping.share(edge) == 0, "who is helped does not help"


def check_no_two_levels(run: ModelRun) -> None:
    """Where nothing is under way between two workers, what the one believes is what the other does."""
    for helper in run.workers.values():
        for target in helper.pressure.helping.granted:
            asker = run.workers.get(helper.worker_of[target])
            if asker is None or run.unaware or run.unmet or helper.assignment != asker.assignment:
                continue
            if run.under_way[helper.number, asker.number] or run.under_way[asker.number, helper.number]:
                continue
            assert helper.number in asker.pressure.reliefs[target].helping
            for edge, (source, _) in run.shape.edges.items():
                if source == run.shape.component_of[target]:
                    assert asker.pressure.helping.share(edge) == 0


@tried(200)
@given(st.integers(0, 1 << 32), st.integers(0, 300))
def test_everybody_is_relieved_when_queues_drain_and_nobody_helps_while_helped(seed: int, events: int) -> None:
    run = ModelRun(random.Random(seed))
    for _ in range(events):
        getattr(run, run.draw.choice(USUAL + RARE))()
        check_everywhere(run)
        check_no_two_levels(run)
    run.calm_down()
    for worker in run.workers.values():
        helping = worker.pressure.helping
        assert not helping.stopping
        assert not helping.granted, "help ends"
        assert not any(worker.pressure.is_pressed(task) for task in worker.tasks)
        assert all(helping.share(edge) == helping.ratio.get(edge, 0) for edge in run.shape.edges)
        assert not worker.pressure.spells.since_ns


def test_much_happens_in_the_model() -> None:
    """Else the test above would prove nothing."""
    states, granted, stopped_beside_help = set(), 0, 0
    for seed in range(60):
        run = ModelRun(random.Random(seed))
        for _ in range(300):
            getattr(run, run.draw.choice(USUAL + RARE))()
            reliefs = [relief for worker in run.workers.values() for relief in worker.pressure.reliefs.values()]
            states |= {relief.state for relief in reliefs}
            granted += sum(len(worker.pressure.helping.granted) for worker in run.workers.values())
            stopped_beside_help += any(relief.helping and relief.stopped for relief in reliefs)
    assert states == {*ReliefState}
    assert granted > 100
    assert stopped_beside_help > 100


def test_what_is_told_under_an_assignment_that_does_not_hold_here_yet_counts_when_it_does() -> None:
    run = ModelRun(random.Random(3))
    worker = next(worker for worker in run.workers.values() if any(map(worker.is_fed, run.shape.component_of)))
    target = next(task for task in run.shape.component_of if worker.is_fed(task))
    worker.pressure.heard(99, Told(target, Word.STOP, 1), run.assignment + 1)
    assert not worker.pressure.helping.stopping
    run.assignment += 1
    worker.switch()
    assert [*worker.pressure.helping.stopping] == [target]
    worker.pressure.heard(99, Told(target, Word.RELIEVED, 1), run.assignment - 1)
    assert worker.pressure.helping.stopping
    worker.pressure.heard(99, Told(target, Word.RELIEVED, 1), run.assignment)
    assert not worker.pressure.helping.stopping
