"""Who takes part: one seat for each worker number, and at most one process on it.

A process is known by (worker, launch, attempt). Attempts on a seat are admitted in strictly rising order, so:

- a late duplicate of an older attempt is refused, even if the seat is empty;
- a newer attempt takes the seat, and what the older one still says comes from a stranger;
- what a stranger says, other than registering, is answered with Refuse.

Beside the connection that a process registered over it has others, which are named after it: its echo, and what says
which call it is in. They only ever say that it is there.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from penstock.control.peers import Peer
from penstock.control.protocol import Register

__all__ = ["CALLS", "ECHO", "Member", "Membership", "Seat"]

ECHO = b"/echo"
CALLS = b"/calls"
"""How the names of connections beside a process's own one end."""

Stage = Literal["admitted", "deployed", "ready", "begun", "ended"]


class Member(msgspec.Struct, kw_only=True):
    """A process that was admitted as a worker."""

    connection: bytes
    worker: int
    generation: int
    about: Register
    stage: Stage = "admitted"
    heard_at_s: float
    """When it last spoke by itself: its duty cycle turned then."""
    reached_at_s: float
    """When it last answered, or spoke: its process could be reached then."""
    deployed_at_s: float | None = None
    silent: bool = False
    """Whether its process is out of reach."""
    deserted: bool = False
    """Whether nobody is at the end of its echo's connection, which the kernel closes for a process that dies."""
    death_counted: bool = False
    """Whether it was taken for dead already: it dies once, however often that is noticed."""
    left_out: bool = False
    """Whether everything went on without it. It may still work on tasks that are others' now."""
    returns: int = 0
    """How often it has come back after it was left out."""
    returned_at_s: float = 0.0
    in_call: str | None = None
    """The call of user code that it said it is in, since it last spoke."""
    slow: bool = False
    """Whether a notice says so."""
    last_words: str | None = None
    """What it raised, and cannot live on with."""

    @property
    def place(self) -> str:
        """Where it runs, for people."""
        return f"worker {self.worker} on {self.about.host} (pid {self.about.pid}, generation {self.generation})"

    def lost_as(self, seen: str) -> str:
        """Why it is lost: what was seen of that, and what it said itself."""
        return seen if self.last_words is None else f"{seen}:\n{self.last_words}"

    @property
    def works(self) -> bool:
        """Whether it works on its tasks, as far as is known, or could on others."""
        return self.stage in ("begun", "ended") and not self.silent

    @property
    def peer(self) -> Peer:
        """How the other workers reach it."""
        return Peer(
            worker=self.worker,
            generation=self.generation,
            node=self.about.node,
            ring_address=self.about.ring_address,
            link_endpoint=self.about.link_endpoint,
        )


class Seat(msgspec.Struct, kw_only=True):
    """A worker number and its story: who sits there, and who sat there before."""

    worker: int
    member: Member | None = None
    generation: int = 0
    launch: int = 0
    """0: the host was not asked for this worker yet."""
    hosted: bool = False
    """Whether the host's job of this launch may still be there."""
    stop_asked: bool = False
    """Whether the host was told to end that job."""
    newest_attempt: int | None = None
    """Of those admitted in this launch."""
    ended: bool = False
    """Its tasks are over: whoever sat there is not needed any more, and nobody else will be."""
    released: bool = False
    """Nobody is needed there: there was nothing to do. Others may be asked to come, see staffing."""
    hired_at_s: float | None = None
    """When it was asked for while the run went on, until it has come."""
    idle_since_s: float | None = None
    """Since when whoever sits there has no tasks."""
    bereft: bool = False
    """Whether its tasks went to others when it was lost: exactly once, it is given some when it is back."""
    empty_since_s: float = 0.0
    losses_s: list[float] = msgspec.field(default_factory=list)
    trouble: str | None = None
    """Why it was last lost."""

    def objection(self, message: Register) -> str | None:
        """Why this process may not sit here; None if it may."""
        me = f"worker {self.worker}"
        if self.released:
            return f"{me} was released"
        if self.ended:
            return f"the tasks of {me} have ended"
        if message.launch != self.launch:
            return f"{me} was launched {self.launch} times, and this is launch {message.launch}"
        if self.stop_asked:  # Spark had restarted the task before it heard that the job is to end
            return f"launch {self.launch} of {me} is being ended, and another follows"
        if self.newest_attempt is not None and message.attempt <= self.newest_attempt:
            return f"attempt {self.newest_attempt} of {me} was admitted already, and this is attempt {message.attempt}"
        return None


class Membership:
    """All seats of a run."""

    def __init__(self, *, run: str, workers: int) -> None:
        self._run = run
        self.seats: dict[int, Seat] = {worker: Seat(worker=worker) for worker in range(workers)}
        self._by_connection: dict[bytes, Member] = {}
        self._next_worker = workers

    def add_seat(self) -> Seat:
        """Adds a seat for a worker that there never was before."""
        seat = self.seats[self._next_worker] = Seat(worker=self._next_worker)
        self._next_worker += 1
        return seat

    def objection(self, message: Register) -> str | None:
        """Why this process may not take part; None if it may."""
        if message.run != self._run:
            return f"this is run {self._run!r}, and not {message.run!r}"
        if message.worker not in self.seats:
            return f"this run has no worker {message.worker}"
        return self.seats[message.worker].objection(message)

    def admit(self, connection: bytes, message: Register, now_s: float) -> Member:
        """Puts a process to whom there is no objection on its seat, which is empty."""
        seat = self.seats[message.worker]
        assert seat.member is None, f"{seat.member.place} sits there"
        seat.generation += 1
        seat.newest_attempt = message.attempt
        seat.member = Member(
            connection=connection,
            worker=seat.worker,
            generation=seat.generation,
            about=message,
            heard_at_s=now_s,
            reached_at_s=now_s,
        )
        self._by_connection[connection] = seat.member
        return seat.member

    def behind(self, connection: bytes) -> Member | None:
        """The member behind a connection; None if it is a stranger's."""
        return self._by_connection.get(connection)

    def beside(self, connection: bytes) -> Member | None:
        """The member that has this connection beside its own one; None if nobody has."""
        return self._by_connection.get(connection.rpartition(b"/")[0])

    def vacate(self, worker: int, now_s: float) -> Member | None:
        """Takes the process off its seat, and returns it. From now on it is a stranger."""
        seat = self.seats[worker]
        member, seat.member = seat.member, None
        if member is not None:
            del self._by_connection[member.connection]
            seat.empty_since_s = now_s
        return member

    def release(self, worker: int, now_s: float) -> Member | None:
        """Removes a seat for good, and returns who sat there."""
        member = self.vacate(worker, now_s)
        del self.seats[worker]
        return member

    def launched(self, worker: int) -> int:
        """Counts another launch of a worker, and returns its number."""
        seat = self.seats[worker]
        seat.launch += 1
        seat.hosted = True
        seat.stop_asked = False
        seat.newest_attempt = None
        return seat.launch

    def members(self) -> list[Member]:
        """All who sit, by worker number."""
        return [seat.member for seat in self.seats.values() if seat.member is not None]
