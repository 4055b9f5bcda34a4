"""From the notes of the three tasks to what held each tuple."""

import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from statistics import median

import msgspec

REASONS = ("no core", "garbage", "at work", "stolen", "asleep")
"""What may hold a tuple: a thread that has to run has no core; it collects garbage; it does something else; the machine
below this virtual one took a core away, which may be the one that should wake the thread; the thread sleeps."""

STEAL_SEEN_WITHIN_NS = 10_000_000
"""The kernel tells stolen time in hundredths of a second."""


class Note(msgspec.Struct, frozen=True, array_like=True):
    """Of a task's thread, when a tuple reached it."""

    at_ns: int
    ran_ns: int
    """How long it has run on a core, since it began."""
    waited_ns: int
    """How long it has had to run and had no core."""
    collected_ns: int
    """How long it has collected garbage."""


class Stolen(msgspec.Struct, frozen=True, array_like=True):
    """Of all cores of the machine, up to an instant."""

    at_ns: int
    stolen_ns: int


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """One tuple."""

    number: int
    latency_us: float
    hops_us: tuple[float, ...]
    """How long it took into each task: to be emitted, and from one task to the next."""
    reasons_us: dict[str, float]
    """Its latency, by reason."""


def held(stamps_ns: Sequence[int], tasks: Sequence[Sequence[Note]], steal: Sequence[Stolen], first: int) -> list[Held]:
    """Each tuple but the first so many, which warm up; the tasks in the order in which tuples pass them."""
    usual_ns = [_usual_ran_ns(notes) for notes in tasks]
    found = []
    for number in range(max(1, first), len(stamps_ns) - 1):
        since_ns = stamps_ns[number]
        hops_us, reasons_us = [], dict.fromkeys(REASONS, 0.0)
        for task, notes in enumerate(tasks):
            hop_ns = max(0, notes[number].at_ns - since_ns)
            hops_us.append(hop_ns / 1000)
            sides = [(notes[number - 1], notes[number], usual_ns[task])]
            if task:  # what the sender did after it had the tuple may have held it, too
                sender = tasks[task - 1]
                sides.append((sender[number], sender[number + 1], usual_ns[task - 1]))
            for reason, part_ns in _split(hop_ns, sides).items():
                reasons_us[reason] += part_ns / 1000
            since_ns = notes[number].at_ns
        stolen_us = min(reasons_us["asleep"], _stolen_ns(steal, stamps_ns[number], since_ns) / 1000)
        reasons_us["stolen"] += stolen_us
        reasons_us["asleep"] -= stolen_us
        found.append(
            Held(number=number, latency_us=sum(hops_us), hops_us=tuple(hops_us), reasons_us=reasons_us),
        )
    return found


def worst(tuples: Sequence[Held], count: int, apart: int) -> list[Held]:
    """The slowest, none of them within so many of another: what holds one tuple holds those behind it, too."""
    chosen: list[Held] = []
    for one in sorted(tuples, key=lambda one: -one.latency_us):
        if len(chosen) == count:
            break
        if all(abs(one.number - other.number) >= apart for other in chosen):
            chosen.append(one)
    return chosen


def _usual_ran_ns(notes: Sequence[Note]) -> float:
    return median(after.ran_ns - before.ran_ns for before, after in itertools.pairwise(notes))


def _split(hop_ns: int, sides: Sequence[tuple[Note, Note, float]]) -> dict[str, float]:
    """Shares a hop out: what is surest first, and sleep is what is left."""
    left = float(hop_ns)
    parts = dict.fromkeys(REASONS, 0.0)
    for before, after, usual_ns in sides:
        collected_ns = after.collected_ns - before.collected_ns
        beyond_ns = after.ran_ns - before.ran_ns - usual_ns - collected_ns
        for reason, part_ns in (
            ("no core", after.waited_ns - before.waited_ns),
            ("garbage", collected_ns),
            ("at work", beyond_ns),
        ):
            taken_ns = min(left, max(0.0, part_ns))
            parts[reason] += taken_ns
            left -= taken_ns
    parts["asleep"] = left
    return parts


def _stolen_ns(steal: Sequence[Stolen], from_ns: int, to_ns: int) -> int:
    first = bisect_right(steal, from_ns, key=lambda one: one.at_ns) - 1
    last = bisect_left(steal, to_ns + STEAL_SEEN_WITHIN_NS, key=lambda one: one.at_ns)
    if not steal or first < 0:
        return 0
    return steal[min(last, len(steal) - 1)].stolen_ns - steal[first].stolen_ns
