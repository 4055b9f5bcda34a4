"""Shuffles: tuples go to the lanes in turn, in an order that follows how much room each target has.

Routing a tuple is a step of a cycle, as if the order never changed. It changes between turns of the task alone:
when a target is full, or is not any more, and every `LOOK_EVERY_NS` by what waits for each. See flow/balance.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from penstock._native import Cycle, Routing
from penstock.flow.balance import Standing, in_turn, weights_of
from penstock.flow.credit import Channel
from penstock.topology.groupings import Grouping, LocalOrShuffle
from penstock.worker.lanes import Lane, LocalLane
from penstock.worker.routing import straight

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["InTurn", "Watch"]

LOOK_EVERY_NS = 10_000_000

_GOLDEN = 0.618033988749895
"""Steps of this size are spread evenly over a round, whatever the rhythm of whoever takes them."""


class Watch(Protocol):
    """What a worker knows of the tasks that its own send to."""

    def standing(self, lane: Lane, *, is_full: bool) -> Standing:
        """How the task at the end of a lane stands."""

    def idle_share(self) -> float:
        """Which share of its time this worker had nothing to do lately."""


class InTurn:
    """One edge out of a task, by shuffle.

    Args:
        grouping: the kind of shuffle.
        lanes: to all tasks of the target.
        watch: what is known of them; None: nothing, so that only those that are full are left out.
    """

    def __init__(self, grouping: Grouping, lanes: Sequence[Lane], watch: Watch | None) -> None:
        stays = isinstance(grouping, LocalOrShuffle)
        near: list[Lane] = [lane for lane in lanes if stays and isinstance(lane, LocalLane)]
        self._lanes = near or [*lanes]
        self._watch = watch
        self._channels = [(lane.source, lane.target) for lane in self._lanes]
        self.channels = frozenset(self._channels)
        """Those that tuples may take. The task need not stop before all of them are full."""
        self._full: frozenset[Channel] = frozenset()
        self._weights = (1,) * len(self._lanes)
        self._given = [0] * len(self._lanes)
        """How many rows of record batches each was given since the weights are what they are."""
        self._began = 0
        self._look_at_ns = 0
        self._cycle = Cycle([lane.tuples for lane in self._lanes])
        self.routing: Routing = straight(self._lanes[0]) if len(self._lanes) == 1 else self._cycle

    def has_room(self, exhausted: set[Channel]) -> bool:
        """Whether any target may be sent to; those that may not are left out from now on."""
        full = self.channels & exhausted if exhausted else frozenset()
        if len(full) == len(self.channels):
            return False
        if full != self._full:
            self._full = full
            self._weigh()
        return True

    def look(self, now_ns: int) -> None:
        """Takes a look at the targets, if the last one was long ago."""
        if 0 <= self._look_at_ns - now_ns <= LOOK_EVERY_NS:  # clocks may be set
            return
        self._look_at_ns = now_ns + LOOK_EVERY_NS
        self._weigh()

    def _weigh(self) -> None:
        if len(self._lanes) == 1:
            return
        full, watch = self._full, self._watch
        if watch is None:
            standings = [Standing(is_full=channel in full) for channel in self._channels]
            weights = weights_of(standings, idle_share=0)
        else:
            known = zip(self._lanes, self._channels, strict=True)
            standings = [watch.standing(lane, is_full=channel in full) for lane, channel in known]
            weights = weights_of(standings, idle_share=watch.idle_share())
        if weights != self._weights:
            self._weights = weights
            self._given = [0] * len(weights)
            order = in_turn(weights)
            # Not from the same target each time, which would be given more than its share if that is often.
            self._began += 1
            begin = int(self._began * _GOLDEN % 1 * len(order))
            self._cycle.take_up([*order[begin:], *order[:begin]])

    def put_batch(self, batch: pa.RecordBatch) -> None:
        """Puts a record batch, whole: where least was put for the weight, this one included."""
        rows, given = batch.num_rows, self._given
        able = [(index, weight) for index, weight in enumerate(self._weights) if weight]
        chosen = min(able, key=lambda one: ((given[one[0]] + rows) / one[1], one[0]))[0]
        given[chosen] += rows
        self._lanes[chosen].put_batch(batch)
