"""The load monitor: from the totals that workers report to smoothed estimates of load and traffic.

Every period the difference of the totals is a sample, and the estimate becomes Y = alpha·Y + (1 - alpha)·sample. The
first sample counts whole. Pure, and cheap where it matters: a report is only kept, and differences are made once a
period.

**A task's CPU share** is its part of its worker's busy time, times the CPU share of the worker's process. So the
worker reads one CPU clock per report, and not one per turn of a task: `time.thread_time_ns` is a system call, 0.7 µs
where the steady clock takes 0.1 µs (measured on the machine of docs/benchmarks.md), and a turn reads it twice, while a
tuple takes about 1 µs in all. What is lost by that: of two tasks on one worker, one that waits within its calls gets
some of the CPU time of one that computes. The sum over the worker is right, and it is what decides about overload.

**Bytes of tuples that pass by reference**, within a worker, nobody counts. What they would be on the way to another
worker is estimated by the mean size of the tuples of that edge that did leave their worker, now or when last some did;
else of other edges of the same stream; else of all edges. Where nothing ever left its worker, by a fixed size, so that
bytes say the same as tuples.

**Moves and restarts.** Totals are compared only within a *stretch*: the reports of one process with the same set of
tasks. Another process or another set begins another stretch, whose first report is where it counts from. So no
difference spans a move: none is negative, and nothing is counted twice, whether counts travel with a task or begin
anew. What is not seen, less than the time between two reports, is not taken for idleness either: rates are per second
that was seen. A task that nobody reported on keeps its estimate; a worker that it has left still tells what it did
there, and that does not count.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

import msgspec

from penstock.control.load_sample import LoadSample, PairRate, TaskShare
from penstock.control.protocol import Report
from penstock.plan.edges import Edge

__all__ = ["LoadMonitor"]

_Pair = tuple[int, int, int]

# The size of tuples of which none was ever seen to leave its worker.
_UNKNOWN_TUPLE_BYTES = 100.0
# A pair with less than this has no traffic any more, and is forgotten: one tuple in a quarter of an hour.
_FEWEST_TUPLES_PER_S = 1e-3
_NOTHING = PairRate(tuples=0.0, bytes=0.0)


class _Stretch(msgspec.Struct, kw_only=True):
    """Reports of one process with the same set of tasks: the one to count from, and the last."""

    generation: int
    tasks: frozenset[int]
    first: Report
    last: Report


class _Seen(msgspec.Struct):
    """Sums over the stretches of a period."""

    sum_ns: int = 0
    longest_ns: int = 0

    def see(self, stretch_ns: int) -> None:
        """Notes that it was seen for so long."""
        self.sum_ns += stretch_ns
        self.longest_ns = max(self.longest_ns, stretch_ns)

    def seen_ns(self, period_ns: float) -> float:
        """How long it was seen. While a task moves, two workers may speak of it at the same time."""
        return min(self.sum_ns, max(self.longest_ns, period_ns))


class _Worked(_Seen):
    busy_ns: int = 0
    cpu_ns: float = 0.0


class _Sent(_Seen):
    tuples: int = 0
    bytes: int = 0


class LoadMonitor:
    """Estimates for one run. Times are seconds of any clock that never goes back."""

    def __init__(self, edges: Iterable[Edge]) -> None:
        self._stream_of = {edge.id: (edge.source, edge.stream) for edge in edges}
        self._stretches: dict[int, _Stretch] = {}
        self._worker_of: Mapping[int, int] = {}
        self._began_at_s: float | None = None
        self._tuple_bytes: dict[int, float] = {}
        """The mean size of an edge's tuples, when last some left their worker."""
        self._clear()
        self.estimate = LoadSample()
        """What is estimated now. Empty before the first sample."""

    def report(self, worker: int, generation: int, report: Report) -> None:
        """Takes in what a worker reported."""
        stretch = self._stretches.get(worker)
        tasks = frozenset(counts.task for counts in report.tasks)
        if stretch is not None and stretch.generation == generation and stretch.tasks == tasks:
            stretch.last = report
            return
        if stretch is not None:
            self._fold(worker, stretch)
        self._stretches[worker] = _Stretch(generation=generation, tasks=tasks, first=report, last=report)

    def sample_if_due(
        self, now_s: float, *, every_s: float | None, alpha: float, worker_of: Mapping[int, int]
    ) -> LoadSample | None:
        """The sample of a period that is over, of which the estimate has changed; None if there is none.

        `worker_of` has the tasks that the run has now, and where they are; no others count.
        """
        self._worker_of = worker_of
        if every_s is None or self._began_at_s is None:
            self._began_at_s = now_s
            return None
        if now_s - self._began_at_s < every_s:
            return None
        period_ns, self._began_at_s = (now_s - self._began_at_s) * 1e9, now_s
        return self._sample(period_ns, alpha, frozenset(worker_of))

    # ---- a period

    def _fold(self, worker: int, stretch: _Stretch) -> None:
        """Adds what happened in a stretch to the sums of the period. From then on it counts from its last report."""
        first, last = stretch.first, stretch.last
        stretch.first = last
        seen_ns = last.at_ns - first.at_ns
        if seen_ns <= 0:
            return
        busy_before = {counts.task: counts.busy_ns for counts in first.tasks}
        busy = {counts.task: max(0, counts.busy_ns - busy_before[counts.task]) for counts in last.tasks}
        cpu_ns = max(0, last.cpu_ns - first.cpu_ns)
        everybody_ns = sum(busy.values())
        for task, busy_ns in busy.items():
            if not busy_ns and self._is_elsewhere(task, worker):
                continue
            worked = self._tasks[task]
            worked.see(seen_ns)
            worked.busy_ns += busy_ns
            worked.cpu_ns += cpu_ns * (busy_ns / everybody_ns) if everybody_ns else 0.0
        process = self._workers[worker]
        process.see(seen_ns)
        process.cpu_ns += cpu_ns
        sent_before = {(counts.edge, counts.source, counts.target): counts for counts in first.pairs}
        for counts in last.pairs:
            key = (counts.edge, counts.source, counts.target)
            before = sent_before.get(key)
            if before is None or before.tuples > counts.tuples or before.bytes > counts.bytes:
                tuples, size = counts.tuples, counts.bytes  # the way was laid anew, and counts since then
            else:
                tuples, size = counts.tuples - before.tuples, counts.bytes - before.bytes
            if not tuples and self._is_elsewhere(counts.source, worker):
                continue
            sent = self._pairs[key]
            sent.see(seen_ns)
            sent.tuples += tuples
            sent.bytes += size

    def _is_elsewhere(self, task: int, worker: int) -> bool:
        """Whether another worker has the task: one that had it before still tells what it did there."""
        return self._worker_of.get(task, worker) != worker

    def _sample(self, period_ns: float, alpha: float, present: frozenset[int]) -> LoadSample:
        for worker, stretch in self._stretches.items():
            self._fold(worker, stretch)
        sample = LoadSample(
            tasks={
                task: TaskShare(
                    cpu=worked.cpu_ns / worked.seen_ns(period_ns), busy=worked.busy_ns / worked.seen_ns(period_ns)
                )
                for task, worked in self._tasks.items()
                if task in present
            },
            pairs=self._pair_rates(period_ns, present),
            workers={worker: process.cpu_ns / process.seen_ns(period_ns) for worker, process in self._workers.items()},
        )
        self.estimate = _smoothed(self.estimate, sample, alpha, present)
        self._clear()
        return sample

    def _clear(self) -> None:
        self._tasks: defaultdict[int, _Worked] = defaultdict(_Worked)
        self._pairs: defaultdict[_Pair, _Sent] = defaultdict(_Sent)
        self._workers: defaultdict[int, _Worked] = defaultdict(_Worked)

    # ---- bytes

    def _pair_rates(self, period_ns: float, present: frozenset[int]) -> dict[_Pair, PairRate]:
        self._learn_sizes()
        rates = {}
        for key, sent in self._pairs.items():
            edge, source, target = key
            if sent.tuples and source in present and target in present:
                # A way that began or ceased to leave the worker in this period counts by what did leave.
                size = sent.bytes or sent.tuples * self._size_of(edge)
                seen_s = sent.seen_ns(period_ns) / 1e9
                rates[key] = PairRate(tuples=sent.tuples / seen_s, bytes=size / seen_s)
        return rates

    def _learn_sizes(self) -> None:
        tuples: defaultdict[int, int] = defaultdict(int)
        size: defaultdict[int, int] = defaultdict(int)
        for (edge, _, _), sent in self._pairs.items():
            if sent.bytes and sent.tuples:
                tuples[edge] += sent.tuples
                size[edge] += sent.bytes
        self._tuple_bytes |= {edge: size[edge] / tuples[edge] for edge in tuples}

    def _size_of(self, edge: int) -> float:
        known = self._tuple_bytes
        if edge in known:
            return known[edge]
        stream = self._stream_of.get(edge)
        alike = [size for other, size in known.items() if self._stream_of.get(other) == stream] or [*known.values()]
        return sum(alike) / len(alike) if alike else _UNKNOWN_TUPLE_BYTES


def _smoothed(old: LoadSample, sample: LoadSample, alpha: float, present: frozenset[int]) -> LoadSample:
    tasks = {task: share for task, share in old.tasks.items() if task in present}
    for task, share in sample.tasks.items():
        was = old.tasks.get(task, share)
        tasks[task] = TaskShare(cpu=_blend(was.cpu, share.cpu, alpha), busy=_blend(was.busy, share.busy, alpha))
    pairs = {}
    for key in old.pairs.keys() | sample.pairs.keys():
        _, source, target = key
        if source not in present or target not in present:
            continue
        before, now = old.pairs.get(key), sample.pairs.get(key, _NOTHING)
        if before is not None and source not in sample.tasks:  # nobody told what it sends now
            now = before
        elif before is None:  # what is new to a task that is known had no traffic before
            before = _NOTHING if source in old.tasks else now
        rate = PairRate(tuples=_blend(before.tuples, now.tuples, alpha), bytes=_blend(before.bytes, now.bytes, alpha))
        if rate.tuples >= _FEWEST_TUPLES_PER_S:
            pairs[key] = rate
    workers = {worker: _blend(old.workers.get(worker, share), share, alpha) for worker, share in sample.workers.items()}
    return LoadSample(tasks=tasks, pairs=pairs, workers=workers)


def _blend(before: float, now: float, alpha: float) -> float:
    return alpha * before + (1 - alpha) * now
