"""Log stream processing: a web server's log is judged by rules, indexed and counted.

One of the topologies of the T-Storm paper (section V and figure 7). There, a log agent puts lines of an IIS log into a
queue as JSON, a spout takes them out, a rules bolt makes log entries of them, and each entry goes to an indexer and to
a counter, whose results two more bolts save. Here the log is made up, or read from files of such JSON with --input; the
results are collected. Shows one stream with two subscribers, a named stream for what is wrong, a value that is a dict,
and a bolt that emits as time passes:

    python examples/log_stream.py --lines 20000 --workers 3
    python examples/log_stream.py --input 'logs/*.json'
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Sequence
from typing import Any

import penstock as ps

PAGES = ["/index.html", "/courses/list.aspx", "/courses/enrol.aspx", "/img/logo.png", "/login.aspx", "/news/today.html"]
STATUSES = [200] * 90 + [304] * 5 + [404] * 3 + [500] * 2

SLOW_MS = 1000


def made_up_line(number: int) -> str:
    """A line as a log agent would hand it on; one in five hundred is broken."""
    chance = random.Random(number)
    if number % 500 == 499:
        return '{"cs-uri-stem": "/index.ht'
    fields = {
        "time": f"{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}",
        "cs-method": chance.choice(["GET", "GET", "GET", "POST"]),
        "cs-uri-stem": chance.choice(PAGES),
        "c-ip": f"10.0.{chance.randrange(8)}.{chance.randrange(256)}",
        "sc-status": chance.choice(STATUSES),
        "time-taken": int(chance.expovariate(1 / 120)),
    }
    return json.dumps(fields)


class Rules(ps.Bolt):
    """Makes a log entry of each line, with what the rules say about it."""

    fields = ("entry",)
    streams = {"broken": ("line", "reason")}

    def process(self, tup: ps.Tuple) -> tuple[dict[str, Any]] | ps.Emit:
        try:
            entry = json.loads(tup.line)
        except ValueError as error:
            return ps.Emit((tup.line, str(error)), stream="broken")
        status = entry["sc-status"]
        if status >= 500:
            entry["level"] = "error"
        elif status >= 400 or entry["time-taken"] > SLOW_MS:
            entry["level"] = "warning"
        else:
            entry["level"] = "info"
        return (entry,)


def index(tup: ps.Tuple) -> Iterator[tuple[str, str]]:
    """The terms by which an entry is found: each part of its path."""
    entry = tup.entry
    for term in entry["cs-uri-stem"].strip("/").replace(".", "/").split("/"):
        yield term, f"{entry['time']} {entry['c-ip']}"


class Postings(ps.KeyedBolt):
    """How many entries each term finds."""

    fields = ("term", "entries")

    def process(self, key: str, tup: ps.Tuple) -> None:  # noqa: ARG002
        self.state[key] = self.state.get(key, 0) + 1

    def finish(self) -> Iterator[tuple[str, int]]:
        yield from self.state.items()


def minute_and_level(tup: ps.Tuple) -> tuple[str, str]:
    return tup.entry["time"][:5], tup.entry["level"]


class Volume(ps.KeyedBolt):
    """How many entries of each level there were in each minute; says what is new every second, and at the end."""

    fields = ("minute", "level", "entries")
    tick_every_s = 1.0

    def open(self, context: ps.TaskContext) -> None:  # noqa: ARG002
        self.changed: set[tuple[str, str]] = set()

    def process(self, key: tuple[str, str], tup: ps.Tuple) -> None:  # noqa: ARG002
        self.state[key] = self.state.get(key, 0) + 1
        self.changed.add(key)

    def tick(self) -> Iterator[tuple[str, str, int]]:
        changed, self.changed = self.changed, set()
        for minute, level in sorted(changed):
            yield minute, level, self.state[minute, level]

    finish = tick


def topology(input: str = "", lines: int = 10_000, per_second: float = 5000.0, tasks: int = 2) -> ps.Topology:
    """Builds log -> rules -> (index -> postings -> indexed) and (minutes -> volume -> counted), and what is broken."""
    topo = ps.Topology("log-stream")
    if input:
        log = topo.spout("log", ps.TextFiles(input, errors="replace"), tasks=tasks)
    else:
        log = topo.spout("log", ps.Rate(per_second, made_up_line, limit=lines, fields=("line",)), tasks=tasks)
    entries = topo.bolt("rules", Rules(), log.shuffle(), tasks=tasks)
    terms = topo.bolt("index", index, entries.shuffle(), tasks=tasks, fields=("term", "entry"))
    postings = topo.bolt("postings", Postings(), terms.by("term"), tasks=tasks)
    minutes = topo.bolt("minutes", minute_and_level, entries.shuffle(), tasks=tasks, fields=("minute", "level"))
    volume = topo.bolt("volume", Volume(), minutes.by("minute", "level"), tasks=tasks)
    topo.bolt("indexed", ps.Collect(), postings.to_one())
    topo.bolt("counted", ps.Collect(), volume.to_one())
    topo.bolt("broken", ps.Collect(), entries.stream("broken").to_one())
    return topo


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Judges, indexes and counts the lines of a web server's log.")
    parser.add_argument("--input", default="", help="a pattern of files with a JSON object per line")
    parser.add_argument("--lines", type=int, default=10_000, help="lines to make up (default: %(default)s)")
    parser.add_argument("--per-second", type=float, default=5000.0, help="made-up lines per second")
    parser.add_argument("--tasks", type=int, default=2, help="tasks of each component (default: %(default)s)")
    parser.add_argument("--workers", type=int, help="worker processes (default: one per core)")
    options = parser.parse_args(arguments)

    topo = topology(options.input, options.lines, options.per_second, options.tasks)
    summary = ps.run(topo, workers=options.workers)
    print("entries found by term")
    for term, entries in sorted(summary.collected("indexed"), key=lambda row: (-row[1], row[0]))[:10]:
        print(f"{entries:>9,}  {term}")
    levels: dict[str, dict[str, int]] = {}
    for minute, level, entries in summary.collected("counted"):  # the last word on a minute counts
        minutes = levels.setdefault(level, {})
        minutes[minute] = max(entries, minutes.get(minute, 0))
    print("entries by level")
    for level, counts in sorted(levels.items()):
        print(f"{sum(counts.values()):>9,}  {level}, in {len(counts):,} minutes")
    print(f"{len(summary.collected('broken')):>9,}  broken lines")


if __name__ == "__main__":
    main()
