"""A storm: producers that write as fast as they can, while a thread kills, stops and continues them."""

from __future__ import annotations

import collections
import itertools
import mmap
import random
import signal
import threading
import time
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from penstock.transport.ring import Route
from tests.ring.nursery import Child, Nursery
from tests.ring.traffic import SMALLEST, message
from tests.ring.victims import Strike, attach_when_there_is_room

PRODUCER_POINTS = (
    "before_claim",
    "after_intent",
    "after_claim",
    "after_first_header",
    "after_header",
    "mid_copy",
    "before_commit",
    "after_commit",
    "between_packets",
)
# Points that are not passed by every record.
RARE_POINTS = ("after_first_header", "between_packets")
MOST_PER_WRITE = 20
SIZES = (SMALLEST, 33, 100, 1_000, 4_500, 8_000)


class Ledger:
    """How many messages each producer knows to be written: in shared memory, so that it outlives the producer."""

    def __init__(self, path: Path, producers: int | None = None) -> None:
        """Creates the file if told for how many producers, else opens it."""
        if producers is not None:
            path.write_bytes(bytes(8 * (producers + 1)))
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), 0)
        self._words = memoryview(self._memory).cast("Q")

    def acknowledge(self, producer: int, messages: int) -> None:
        self._words[producer + 1] = messages

    def acknowledged(self, producer: int) -> int:
        return self._words[producer + 1]

    def call_it_a_day(self) -> None:
        self._words[0] = 1

    def is_day_over(self) -> bool:
        return self._words[0] == 1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._words.release()
        self._memory.close()


def produce(channel: Connection, address: str, ledger_path: Path, producer: int, strike: Strike | None) -> None:
    """Writes single messages, batches and large messages, until it is killed or the day is over."""
    channel.close()
    rng = random.Random(producer)
    route = Route(source=producer)
    sequence = 0
    with Ledger(ledger_path) as ledger, attach_when_there_is_room(address) as writer:
        if strike is not None:
            strike.arm()
        while not ledger.is_day_over():
            kind = rng.random()
            if kind < 0.6:
                writer.write(message(producer, sequence, rng.choice(SIZES)), route)
                sequence += 1
            elif kind < 0.9:
                count = rng.randint(2, MOST_PER_WRITE)
                sizes = [rng.randint(SMALLEST, 300) for _ in range(count)]
                writer.write_many([message(producer, sequence + i, sizes[i]) for i in range(count)], route)
                sequence += count
            else:
                writer.write(message(producer, sequence, rng.randint(9_000, 30_000)), route)
                sequence += 1
            ledger.acknowledge(producer, sequence)


class Victim(msgspec.Struct):
    """A producer, and what is in store for it: its own strike, or anything at any time if it has none."""

    child: Child
    strike: Strike | None


class Storm:
    """Keeps `producers` of them running, and strikes until `kills` have been killed, and at every point one.

    On a busy machine those without a strike may all die before the few with a certain one. It ends when `most_started`
    have been started, whatever was not struck.
    """

    def __init__(
        self, nursery: Nursery, address: str, ledger_path: Path, *, producers: int, kills: int, most_started: int
    ) -> None:
        self._nursery = nursery
        self._address = address
        self._ledger_path = ledger_path
        self._producers = producers
        self._kills = kills
        self._most_started = most_started
        self._rng = random.Random(kills)
        # In turn, so that even a short storm strikes everywhere: nobody's, a kill at a point, a stop at a point.
        self._fates = itertools.chain.from_iterable(
            (None, Strike(point, signal.SIGKILL), None, Strike(point, signal.SIGSTOP))
            for point in itertools.cycle(PRODUCER_POINTS)
        )
        self._called_off = threading.Event()
        self.started = 0
        self.killed_at_random = 0
        self.killed_at: collections.Counter[str] = collections.Counter()
        self.stopped_at_random = 0
        self.stopped_at: collections.Counter[str] = collections.Counter()

    @property
    def kills(self) -> int:
        return self.killed_at_random + self.killed_at.total()

    @property
    def stops(self) -> int:
        return self.stopped_at_random + self.stopped_at.total()

    def rage(self) -> None:
        """Runs the storm to its end: all producers are dead and reaped when it returns."""
        victims = [self._start() for _ in range(self._producers)]
        while not self._is_over() and not self._called_off.is_set():
            time.sleep(self._rng.random() * 0.004)  # waits for nothing: any instant is as good as another
            at = self._rng.randrange(len(victims))
            if victims[at].child.is_dead():
                self._bury(victims[at])
                victims[at] = self._start()
            else:
                self._strike(victims[at])
        with Ledger(self._ledger_path) as ledger:
            ledger.call_it_a_day()
        # Those with a stop in store may stop only now. All are continued again and again, not one after the other: who
        # is stopped in the middle of a write keeps the ring full for the others, and they cannot end before it does.
        while living := [victim for victim in victims if not victim.child.is_dead()]:
            for victim in living:
                victim.child.send_signal(signal.SIGKILL if self._called_off.is_set() else signal.SIGCONT)
            time.sleep(0.001)
        for victim in victims:
            self._bury(victim)

    def close(self) -> None:
        """Nobody reads any more: calls a storm off that is not over."""
        self._called_off.set()

    def _is_over(self) -> bool:
        has_struck_everywhere = len(self.killed_at) == len(PRODUCER_POINTS)
        return self.started >= self._most_started or (self.kills >= self._kills and has_struck_everywhere)

    def _start(self) -> Victim:
        fate = next(self._fates)
        if fate is not None:
            passes = self._rng.randrange(3 if fate.point in RARE_POINTS else 40)
            fate = Strike(fate.point, fate.signal, passes)
        child = self._nursery.fork(produce, self._address, self._ledger_path, self.started, fate)
        self.started += 1
        return Victim(child, fate)

    def _strike(self, victim: Victim) -> None:
        if victim.strike is not None and victim.strike.signal == signal.SIGSTOP:
            if not victim.child.is_stopped():
                return  # its hour has not come
            self.stopped_at[victim.strike.point] += 1
            victim.strike = None
            blow = self._rng.choice([signal.SIGCONT, signal.SIGKILL])
        elif victim.strike is not None:  # may be delayed, but must not be killed by anything but its strike
            blow = self._rng.choice([signal.SIGSTOP, signal.SIGCONT, signal.SIGCONT])
        else:
            blow = self._rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGSTOP, signal.SIGCONT])
        self.stopped_at_random += blow == signal.SIGSTOP
        victim.child.send_signal(blow)

    def _bury(self, victim: Victim) -> None:
        code = victim.child.wait()
        if code == 0:
            return  # it lived to the end of the day
        assert code == -signal.SIGKILL, f"a producer failed with exit code {code}; its stderr says why"
        if victim.strike is None:
            self.killed_at_random += 1
        else:
            self.killed_at[victim.strike.point] += 1
