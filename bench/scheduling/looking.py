"""Looking at a running topology: where its tasks are, what flows between them, and how long that takes."""

import time

import penstock as ps
from bench.scheduling.cores import CoreTimes
from bench.scheduling.measured import Sample
from bench.scheduling.window import times_between
from penstock.control.load_store import LoadStore
from penstock.plan.assignment import Assignment
from penstock.plan.predicted import predict


def placed(run: ps.Run) -> Assignment:
    """Which worker has which task, as the run says."""
    status = run.status()
    worker_of = {task: worker.worker for worker in status.workers for task in worker.tasks}
    return Assignment(number=status.assignment or 0, worker_of=worker_of)


def nodes_and_workers(run: ps.Run) -> tuple[int, int]:
    """How many of each have tasks."""
    used = [worker for worker in run.status().workers if worker.tasks]
    return len({worker.node for worker in used}), len(used)


def sampled(run: ps.Run, store: LoadStore, window_s: float) -> Sample:
    """What happens from now on, for so long. The load store's last estimate must be of the placement that holds."""
    spouts = {name for name, spec in run.topology.components.items() if not spec.inputs}
    before, cores = run.metrics(), CoreTimes.now()
    time.sleep(window_s)
    after, core_share = run.metrics(), CoreTimes.now().share_since(cores)
    times = times_between(before.end_to_end_histogram, after.end_to_end_histogram)
    for failure in after.failures:
        message = f"{run.topology.name}: {failure.component} failed: {failure.message}"
        raise ps.RunError(message)
    if times is None:
        message = f"{run.topology.name}: nothing came to its end within {window_s:g} s"
        raise ps.RunError(message)
    emitted = [sum(task.emitted for task in look.tasks if task.component in spouts) for look in (before, after)]
    # What is predicted of the placement that holds is what was measured of it.
    meant = predict(store.situation(run.id).request(), placed(run))
    return Sample(
        times=times,
        emitted_per_s=(emitted[1] - emitted[0]) / (after.run_s - before.run_s),
        tuples_per_s=meant.tuples_per_s,
        bytes_per_s=meant.bytes_per_s,
        workers=meant.workers_used,
        nodes=meant.nodes_used,
        core_share=core_share,
    )
