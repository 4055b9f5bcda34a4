"""Lending: how a task that stops others has a part of its queue worked on by workers with time to spare.

    lender                                            borrower
    a task is too slow   ── WANTED to everybody ──►   has time to spare
                         ◄── OFFER(room) ──────────   so many jobs at a time
    keeps the piece      ── LOAN(job, a piece) ───►   works on it
    emits what came out  ◄── REPAID(job, room) ────   and says how many it would take from now on

Whoever lends keeps what was lent until it is repaid. A job ends once, and in one of two ways: it is *repaid*, by the
worker that it was lent to, or it is *taken back*, and done by the lender: because that worker was lost, or is late, or
because nothing is lent any more. What comes after that of the same job counts for nothing. So whatever dies, is late or
answers twice, each tuple is worked on once as far as anybody can see, and all that is lost is time.

An offer holds until it is made anew, or its worker is lost, or late with a job. Nobody ever has more jobs than it has
offered to take.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["Job", "Lender"]

ASK_EVERY_NS = 50_000_000


class Job(NamedTuple):
    """A piece of a task's queue that is lent."""

    task: int
    borrower: int
    due_ns: int
    """When it is late."""


class Lender:
    """What one worker has lent, and to whom it could lend more."""

    def __init__(self) -> None:
        self._jobs: dict[int, Job] = {}
        self._room: dict[int, int] = {}
        self._asked_ns: int | None = None
        self.called: set[int] = set()
        """The tasks that want a part of their queues to be done elsewhere."""

    def call(self, task: int) -> None:
        """From now on, pieces of this task's queue may be lent."""
        self.called.add(task)

    def recall(self, task: int) -> list[int]:
        """No more, and what is lent is taken back. Returns the jobs."""
        self.called.discard(task)
        if not self.called:
            self._room.clear()
            self._asked_ns = None
        return self._take_back(number for number, job in self._jobs.items() if job.task == task)

    def is_to_ask(self, now_ns: int) -> bool:
        """Whether everybody is to be asked for time: somebody wants it, and nobody was lately. Counts as asked."""
        if not self.called or (self._asked_ns is not None and now_ns - self._asked_ns < ASK_EVERY_NS):
            return False
        self._asked_ns = now_ns
        return True

    def offered(self, worker: int, room: int) -> None:
        """A worker would take so many jobs at a time, from now on."""
        if self.called and room > 0:
            self._room[worker] = room
        else:
            self._room.pop(worker, None)

    def borrower(self, most_jobs: int) -> int | None:
        """Who should be lent the next piece: who has the least to do for us; None if nobody has room.

        Nobody is given more than `most_jobs`: a marker may have to wait for all of them.
        """
        having = self._having()
        able = [(jobs, worker) for worker, room in self._room.items() if (jobs := having.get(worker, 0)) < room]
        jobs, worker = min(able, default=(most_jobs, None))
        return worker if jobs < most_jobs else None

    def lend(self, number: int, task: int, borrower: int, due_ns: int) -> None:
        """A piece is lent. The number is one that no job has had, in this process or in one before it."""
        assert task in self.called, f"task {task} did not ask for anybody's time"
        assert self._having().get(borrower, 0) < self._room.get(borrower, 0), f"worker {borrower} has no room"
        self._jobs[number] = Job(task, borrower, due_ns)

    def repaid(self, number: int, worker: int, room: int) -> bool:
        """A worker says that it has done a job, and what it would take from now on. Returns whether that counts."""
        job = self._jobs.get(number)
        if job is None or job.borrower != worker:  # who was late has to offer again before it is lent more
            return False
        del self._jobs[number]
        self.offered(worker, room)
        return True

    def lost(self, worker: int) -> list[int]:
        """A worker is gone. Returns the jobs that it had."""
        self._room.pop(worker, None)
        return self._take_back(number for number, job in self._jobs.items() if job.borrower == worker)

    def late(self, now_ns: int) -> list[int]:
        """The jobs that are taken back because they are late. Who had them is lent nothing before it offers again."""
        late = [number for number, job in self._jobs.items() if job.due_ns <= now_ns]
        for number in late:
            self._room.pop(self._jobs[number].borrower, None)
        return self._take_back(late)

    def all_back(self) -> list[int]:
        """Everything is taken back, and no offer holds. Returns the jobs."""
        self._room.clear()
        self._asked_ns = None
        return self._take_back(self._jobs)

    @property
    def next_due_ns(self) -> int | None:
        """When the next job is late; None if nothing is lent."""
        return min((job.due_ns for job in self._jobs.values()), default=None)

    def __len__(self) -> int:
        """How many jobs are lent."""
        return len(self._jobs)

    def _having(self) -> dict[int, int]:
        having: dict[int, int] = {}
        for job in self._jobs.values():
            having[job.borrower] = having.get(job.borrower, 0) + 1
        return having

    def _take_back(self, numbers: Iterable[int]) -> list[int]:
        taken = [*numbers]  # in the order in which they were lent
        for number in taken:
            del self._jobs[number]
        return taken
