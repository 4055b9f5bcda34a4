"""Looking at a running topology: where its tasks are, what flows between them, and how long that takes."""

import statistics
import time

import penstock as ps
from bench.scheduling.cores import CoreTimes
from bench.scheduling.measured import Sample
from bench.scheduling.window import times_between
from penstock.control.metrics import RunMetrics, TrafficMetrics

_LOOKS = 4


def nodes_and_workers(run: ps.Run) -> tuple[int, int]:
    """How many of each have tasks."""
    used = [worker for worker in run.status().workers if worker.tasks]
    return len({worker.node for worker in used}), len(used)


def sampled(run: ps.Run, window_s: float) -> Sample:
    """What happens from now on, for so long."""
    looks, cores = [run.metrics()], CoreTimes.now()
    for _ in range(_LOOKS):
        time.sleep(window_s / _LOOKS)
        looks.append(run.metrics())
    before, after = looks[0], looks[-1]
    core_share = CoreTimes.now().share_since(cores)
    for failure in after.failures:
        message = f"{run.topology.name}: {failure.component} failed: {failure.message}"
        raise ps.RunError(message)
    times = times_between(before.end_to_end_histogram, after.end_to_end_histogram)
    if times is None:
        message = f"{run.topology.name}: nothing came to its end within {window_s:g} s"
        raise ps.RunError(message)
    nodes, workers = nodes_and_workers(run)
    return Sample(
        times=times,
        emitted_per_s=(_emitted(after) - _emitted(before)) / (after.run_s - before.run_s),
        traffic=_mean([look.traffic for look in looks[1:]]),
        nodes=nodes,
        workers=workers,
        core_share=core_share,
    )


def _emitted(look: RunMetrics) -> int:
    return sum(component.emitted for component in look.components if component.kind == "spout")


def _mean(looks: list[TrafficMetrics]) -> TrafficMetrics:
    """Each look is of half a second alone."""
    fields = TrafficMetrics.__struct_fields__
    return TrafficMetrics(**{name: statistics.fmean(getattr(look, name) for look in looks) for name in fields})
