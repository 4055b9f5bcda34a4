"""Interleaved rounds: everybody is measured in each of them, so that what else the machine does falls on all."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

from bench.progress import Progress

Item = TypeVar("Item")
Name = TypeVar("Name")


def interleaved(
    progress: Progress, stage: str, names: Sequence[Name], items: Sequence[Item], rounds: int
) -> Iterator[tuple[Name, Item]]:
    """Each name with each item, once per round; another name goes first in each round."""
    with progress.stage(stage, rounds * len(items) * len(names)) as step:
        for turn in range(rounds):
            for item in items:
                for name in rotated(names, turn):
                    step(f"{name}, {item}, round {turn + 1} of {rounds}")
                    yield name, item


def rotated(items: Sequence[Item], places: int) -> Sequence[Item]:
    """The same items, beginning so many places further on."""
    shift = places % max(1, len(items))
    return (*items[shift:], *items[:shift])
