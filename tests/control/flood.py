"""A topology with more input than its slow bolt can take, a path that has nothing to do with it, and an exact account.

    numbers ──► pass ×2 ──► slow ──► tally ──► totals
    beats ──► aside                (says what is missing, and what came twice)

`slow` has a worker of its own, so that it can be stopped without anybody else.
"""

from __future__ import annotations

import math
import os
import time
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from penstock.connectors.collect import Collect
from penstock.plan.assignment import Assignment
from penstock.plan.schedulers.base import PlanRequest
from penstock.topology.bolts import Bolt, StatefulBolt
from penstock.topology.emit import Emit
from penstock.topology.spouts import Spout
from penstock.topology.topology import Topology
from penstock.topology.tuples import Tuple

WORKERS = 4
SLOW_WORKER = WORKERS - 1
BEATS_PER_S = 500.0
LONG_S = float(os.environ.get("PENSTOCK_FLOOD_S", "120"))
SERVICE_S = 0.001
LOAD_BYTES = 32 << 10

# A window of 1 MiB and what one turn adds to it, for each of the channels between the workers, and the same decoded; a
# ring of 8 MiB. What is offered while a test lasts is a multiple: a worker that took it all would be a gigabyte larger
# after some seconds.
MOST_GROWTH_BYTES = 96 << 20
# Of each of the two tasks of `pass`: a window, and what may have waited for it when it got its turn, which is another
# window and a turn of the spout.
MOST_WAITING = 2 * (2 * (1 << 20) // LOAD_BYTES + 256) + 256

_LOOK_EVERY_S = 0.02
_AT_ONCE = 16
_END = "end"


class Tap:
    """How fast a source is: a number in a file, which can be changed while the run goes on."""

    def __init__(self, folder: Path, name: str) -> None:
        self.file = str(folder / name)
        self.turn(0.0)

    def turn(self, per_s: float, most: float = math.inf) -> None:
        """From now on so many tuples a second are due, `most` of them; `math.inf`: as many as anybody takes."""
        self._write(f"{per_s!r} {most!r}")

    def end(self) -> None:
        """Nothing more is due. What was due still comes."""
        self._write(_END)

    def _write(self, text: str) -> None:
        draft = Path(f"{self.file}.draft")
        draft.write_text(text)
        draft.rename(self.file)  # nobody reads half a number


class Numbers(Spout):
    """Counts, as fast as the tap says. A source that waits: what nobody takes is due still.

    At the end it says how many there were.
    """

    fields = ("n", "load")
    streams = {"said": ("count",)}  # noqa: RUF012

    def __init__(self, tap: Tap, load_bytes: int) -> None:
        self.tap_file = tap.file
        self.load_bytes = load_bytes

    def open(self, context: Any) -> None:  # noqa: ARG002
        self.emitted, self.due, self.has_said = 0, 0.0, False
        self.text, self.per_s, self.most_due, self.is_last = "", 0.0, math.inf, False
        self.looked_at_s = time.monotonic()

    def next(self) -> Any:
        if self.has_said:
            raise StopIteration
        self._look()
        most = _AT_ONCE if math.isinf(self.per_s) else min(_AT_ONCE, int(self.due) - self.emitted)
        if most <= 0:
            if not self.is_last:
                return None
            self.has_said = True
            return Emit((self.emitted,), stream="said")
        first, self.emitted = self.emitted, self.emitted + most
        return [(number, bytes(self.load_bytes)) for number in range(first, self.emitted)]

    def _look(self) -> None:
        now_s = time.monotonic()
        if now_s < self.looked_at_s + _LOOK_EVERY_S:
            return
        # What nobody could wait for is not due afterwards.
        more = self.emitted - self.due if math.isinf(self.per_s) else self.per_s * (now_s - self.looked_at_s)
        self.due = min(self.due + more, self.most_due)
        self.looked_at_s = now_s
        text = Path(self.tap_file).read_text()
        if text != self.text:
            self.text, self.is_last = text, text == _END
            self.per_s, most = (0.0, 0.0) if self.is_last else map(float, text.split())
            self.most_due = self.due + most

    def position(self) -> Any:
        return [self.emitted, self.due, self.has_said]

    def seek(self, position: Any) -> None:
        self.emitted, self.due, self.has_said = position


class Slow(Bolt):
    """Waits for each tuple, as a call to a service would, and passes its number on."""

    fields = ("n",)

    def __init__(self, service_s: float) -> None:
        self.service_s = service_s

    def process(self, tup: Tuple) -> Any:
        time.sleep(self.service_s)
        return (tup.n,)


class Tally(StatefulBolt):
    """Which numbers have come, and how often one came again."""

    fields = ("said", "seen", "again")

    def open(self, context: Any) -> None:  # noqa: ARG002
        self.seen, self.again, self.said = bytearray(), 0, -1

    def process(self, tup: Tuple) -> None:
        if tup.stream == "said":
            self.said = tup.count
            return
        if tup.n >= len(self.seen):
            self.seen.extend(bytes(2 * tup.n + 1024 - len(self.seen)))
        self.again += self.seen[tup.n]
        self.seen[tup.n] = 1

    def finish(self) -> Any:
        return self.said, sum(self.seen), self.again

    def snapshot(self) -> Any:
        return [bytes(self.seen), self.again, self.said]

    def restore(self, state: Any) -> None:
        seen, self.again, self.said = state
        self.seen = bytearray(seen)


class SlowApart(msgspec.Struct, frozen=True, kw_only=True):
    """Nothing but `slow` on the last worker that is there, and no bolt with its source: all that waits has come far."""

    name: ClassVar[str] = "slow-apart"

    def plan(self, request: PlanRequest) -> Assignment:
        first, *others, last = sorted(slot.worker for slot in request.slots)
        alone = {"numbers": first, "beats": first, "tally": first, "slow": last}
        worker_of = {task.id: alone.get(task.component, others[task.index % len(others)]) for task in request.tasks}
        return Assignment(number=request.next_number, worker_of=worker_of)


def flooded(tap: Tap, beat: Tap, *, service_s: float, load_bytes: int, helping: bool | None = None) -> Topology:
    """What is described above."""
    topo = Topology("flooded")
    numbers = topo.spout("numbers", Numbers(tap, load_bytes))
    passed = topo.bolt("pass", lambda tup: tup, numbers.shuffle(), tasks=2, fields=("n", "load"))
    slow = topo.bolt("slow", Slow(service_s), passed.shuffle(), helping=helping)
    tally = topo.bolt("tally", Tally(), slow.to_one(), numbers.stream("said").to_one())
    beats = topo.spout("beats", Numbers(beat, 0))
    topo.bolt("aside", lambda tup: None, beats.shuffle(), fields=())  # noqa: ARG005
    topo.bolt("totals", Collect(), tally.to_one())
    return topo
