"""Nearest match: a question goes to all shards of the data, and what they answer comes back as one tuple.

Shows scatter and gather. The points lie in as many shards as there are tasks of "shard"; none has all of them. Each
question is sent to every task by `broadcast`, each task answers with the nearest of its own points, and `gather` gives
"best" one tuple per question when all of them have answered:

    python examples/nearest_match.py --points 100000 --questions 1000 --workers 3
    penstock run examples/nearest_match.py --set shards=8
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Sequence
from math import dist, inf

import penstock as ps

Point = tuple[float, float]


def point(number: int) -> Point:
    """Some point, the same one for the same number."""
    chance = random.Random(number)
    return chance.random(), chance.random()


class Ask(ps.Bolt):
    """Gives each question a place, and itself as an id that the answers will have in common."""

    fields = ("question", "x", "y")

    def process(self, tup: ps.Tuple) -> tuple[int, float, float]:
        return tup.seq, *point(-1 - tup.seq)


class Shard(ps.Bolt):
    """Knows some of the points, and answers each question with the nearest of them."""

    fields = ("question", "distance", "point")

    def __init__(self, points: int) -> None:
        self.points = points

    def open(self, context: ps.TaskContext) -> None:
        self.shard = {number: point(number) for number in range(context.index, self.points, context.count)}

    def process(self, tup: ps.Tuple) -> tuple[int, float, int]:
        here = (tup.x, tup.y)
        away = ((dist(here, there), number) for number, there in self.shard.items())
        distance, nearest = min(away, default=(inf, -1))  # one that has nothing to say has to answer, too
        return tup.question, distance, nearest


class Best(ps.Bolt):
    """Is given one tuple per question, with the answers of all shards."""

    fields = ("question", "distance", "point")

    def process(self, tup: ps.Tuple) -> Iterator[tuple[int, float, int]]:
        best = min(tup.answers, key=lambda answer: answer.distance)
        yield tup.question, best.distance, best.point


def topology(points: int = 1000, questions: int = 100, shards: int = 4) -> ps.Topology:
    """Builds questions -> ask -> all shards -> best -> matches."""
    topo = ps.Topology("nearest-match")
    numbers = topo.spout("questions", ps.Rate(None, limit=questions))
    asked = topo.bolt("ask", Ask(), numbers.shuffle())
    answers = topo.bolt("shard", Shard(points), asked.broadcast(), tasks=shards)
    best = topo.bolt("best", Best(), answers.gather("question"), tasks=2)
    topo.bolt("matches", ps.Collect(), best.to_one())
    return topo


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Finds the nearest of many points that lie in shards.")
    parser.add_argument("--points", type=int, default=1000, help="in all shards together (default: %(default)s)")
    parser.add_argument("--questions", type=int, default=100, help="how many to ask (default: %(default)s)")
    parser.add_argument("--shards", type=int, default=4, help="tasks that hold points (default: %(default)s)")
    parser.add_argument("--workers", type=int, help="worker processes (default: one per core)")
    options = parser.parse_args(arguments)

    summary = ps.run(topology(options.points, options.questions, options.shards), workers=options.workers)
    matches = sorted(summary.collected("matches"))
    for question, distance, nearest in matches[:5]:
        print(f"question {question}: point {nearest} is {distance:.4f} away")
    print(f"{len(matches):,} questions, each answered by {options.shards} shards")


if __name__ == "__main__":
    main()
