"""T-Storm's Log Stream Processing: lines of a web server's log, rules, an index and counts, and both kept."""

import random
import re
from typing import Any

import penstock as ps
from bench.scheduling.last_value import LastValue
from bench.scheduling.paced import PacedSpout

TASKS, SINKS = 5, 2
_LINES = 1_000
_PAGES = 200
_LOG_LINE = re.compile(
    r"(?P<day>\S+) (?P<time>\S+) (?P<server>\S+) (?P<verb>\S+) (?P<page>\S+) (?P<port>\d+) (?P<client>\S+) "
    r"(?P<agent>\S+) (?P<status>\d+) (?P<took_ms>\d+)"
)
# What the rules look for in a page, first match first: the work that this topology has and the others have not.
_RULES = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        ("attack", r"\.\./|%00|;--|<script|union\+select|/etc/passwd|cmd\.exe"),
        ("admin", r"^/(admin|manager|phpmyadmin|wp-login)"),
        ("search", r"[?&](q|query|search|term)="),
        ("image", r"\.(png|jpe?g|gif|svg|ico)$"),
        ("style", r"\.(css|js|woff2?)$"),
        ("page", r"(/|\.aspx?|\.html?)$"),
    )
)
_ENDINGS = ("/", ".aspx", ".html", ".png", ".css", ".js", "?q=storm")


def log_line(number: int) -> str:
    """A line as IIS writes them; the same each time."""
    chance = random.Random(number)
    page = f"/department-{chance.randrange(20)}/page-{chance.randrange(_PAGES)}{chance.choice(_ENDINGS)}"
    return (
        f"2013-08-05 {number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02} 10.0.0.{chance.randrange(9)} "
        f"{chance.choice(('GET', 'GET', 'POST'))} {page} 80 10.7.{chance.randrange(256)}.{chance.randrange(256)} "
        f"Mozilla/5.0+(compatible;+MSIE+10.0;+Windows+NT+6.2) {chance.choice((200, 200, 200, 304, 404, 500))} "
        f"{chance.randrange(2000)}"
    )


class LogLines(PacedSpout):
    """Lines of a log, over and over."""

    fields = ("line",)

    def open(self, context: ps.TaskContext) -> None:
        super().open(context)
        self.lines = [log_line(number) for number in range(_LINES)]

    def tuple_at(self, number: int) -> tuple[str]:
        return (self.lines[(TASKS * number + self.index) % _LINES],)


class Rules(ps.Bolt):
    """What kind of entry a line is, by rules."""

    fields = ("page", "kind", "status", "took_ms", "client")

    def process(self, tup: ps.Tuple) -> tuple[str, str, int, int, str]:
        found = _LOG_LINE.match(tup.line)
        if found is None:
            message = f"not a line of the log: {tup.line!r}"
            raise ValueError(message)
        page = found["page"]
        kind = next((name for name, pattern in _RULES if pattern.search(page)), "other")
        return page, kind, int(found["status"]), int(found["took_ms"]), found["client"]


class Indexer(ps.Bolt):
    """The words by which an entry is to be found."""

    fields = ("page", "words")

    def process(self, tup: ps.Tuple) -> tuple[str, list[str]]:
        words = {word.lower() for word in re.split(r"\W+", f"{tup.page} {tup.kind} {tup.client}") if word}
        return tup.page, sorted(words)


class Counter(ps.KeyedBolt):
    """How often a page was asked for."""

    fields = ("page", "count")

    def process(self, key: Any, tup: ps.Tuple) -> tuple[str, int]:  # noqa: ARG002
        count = self.state[key] = self.state.get(key, 0) + 1
        return key, count


def log_stream(tap_file: str, limit: int | None = None) -> ps.Topology:
    """5 + 5 + 5 + 5 + 2 + 2 tasks, as in the paper."""
    topology = ps.Topology("log-stream")
    lines = topology.spout("log", LogLines(tap_file, limit), tasks=TASKS)
    entries = topology.bolt("rules", Rules(), lines.shuffle(), tasks=TASKS)
    indexed = topology.bolt("indexer", Indexer(), entries.shuffle(), tasks=TASKS)
    counted = topology.bolt("counter", Counter(), entries.by("page"), tasks=TASKS)
    topology.bolt("index-sink", LastValue(), indexed.by("page"), tasks=SINKS)
    topology.bolt("count-sink", LastValue(), counted.by("page"), tasks=SINKS)
    return topology
