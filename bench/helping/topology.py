"""Leron's topology (figure 4), with service times that can be set: word -> compute -> exclam1 -> exclam2 -> check.

Words are numbered, so that what is lost or doubled on the way can be told.
"""

from pathlib import Path
from typing import Any

import msgspec

import penstock as ps
from bench.helping.account import Account
from bench.helping.dial import ServiceTime, compute, wait
from bench.scheduling.paced import PacedSpout

MARKS = "!!!"
_LETTERS = "abcdefghijklmnopqrst"


class Words(PacedSpout):
    """Numbered words, as fast as the tap says. What nobody takes in time is forgotten: the source is a live one."""

    fields = ("number", "word")

    def tuple_at(self, number: int) -> tuple[int, str]:
        return number, _LETTERS


class Work(ps.Bolt):
    """Appends some '!', and takes its time for that."""

    fields = ("number", "word")

    def __init__(self, dial_file: str, *, is_cpu_bound: bool) -> None:
        self.dial_file = dial_file
        self.is_cpu_bound = is_cpu_bound

    def open(self, context: ps.TaskContext) -> None:
        self.service = ServiceTime(self.dial_file, context.component)
        self.spend = compute if self.is_cpu_bound else wait

    def process(self, tup: ps.Tuple) -> tuple[int, str]:
        service_ns = self.service.now_ns()
        if service_ns:
            self.spend(service_ns)
        return tup.number, tup.word + MARKS


class Check(ps.Bolt):
    """Which numbers have come, how often one came again, and whether each was worked on by every bolt, once."""

    fields = ()

    def __init__(self, account_file: str, stages: int) -> None:
        self.account_file = account_file
        self.word = _LETTERS + stages * MARKS

    def open(self, context: ps.TaskContext) -> None:  # noqa: ARG002
        self.seen, self.again, self.wrong = bytearray(), 0, 0

    def process(self, tup: ps.Tuple) -> None:
        number = tup.number
        if number >= len(self.seen):
            self.seen.extend(bytes(2 * number + 1024 - len(self.seen)))
        self.again += self.seen[number]
        self.seen[number] = 1
        self.wrong += tup.word != self.word

    def finish(self) -> None:
        account = Account(highest=self.seen.rfind(1), seen=sum(self.seen), again=self.again, wrong=self.wrong)
        Path(self.account_file).write_bytes(msgspec.msgpack.encode(account))


def leron_chain(
    *,
    tap_file: str,
    dial_file: str,
    account_file: str,
    computes: int = 2,
    is_cpu_bound: bool = False,
    limit: int | None = None,
    **bolt: Any,
) -> ps.Topology:
    """The chain; `limit` words, if it is to end by itself. `bolt` is given to each of the three bolts."""
    topo = ps.Topology("helping")

    def stage(name: str, stream: Any, tasks: int = 1) -> Any:
        return topo.bolt(name, Work(dial_file, is_cpu_bound=is_cpu_bound), stream.shuffle(), tasks=tasks, **bolt)

    computed = stage("compute", topo.spout("word", Words(tap_file, limit)), computes)
    last = stage("exclam2", stage("exclam1", computed))
    topo.bolt("check", Check(account_file, stages=3), last.to_one())
    return topo
