"""Topologies travel: to a process that has nothing of the user's code."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import cloudpickle
import pytest

from penstock.errors import TopologyError
from penstock.topology.shipping import from_bytes, to_bytes
from tests.topology.complaints import Same, topology_with_numbers
from tests.topology.test_topology import everything

HELPERS = """
import dataclasses, enum, typing
import msgspec

class Colour(enum.Enum):
    RED = 1

@dataclasses.dataclass
class Point:
    x: int

class Pair(typing.NamedTuple):
    left: int

class Base(msgspec.Struct, frozen=True, kw_only=True):
    a: int

class Record(Base, frozen=True, tag="r", rename={"names": "n"}):
    b: int = 2
    names: list[str] = msgspec.field(default_factory=list)
    def twice(self):
        return Record(a=2 * self.a, b=self.b)

def shout(text):
    return text.upper()
"""

APP = """
import helpers
from helpers import Colour, Pair, Point, Record
from penstock.topology.bolts import Bolt
from penstock.topology.topology import Topology

class Shout(Bolt):
    fields = ("word", "extra")
    def __init__(self):
        super().__init__()
        self.record = Record(a=1)
    def process(self, tup):
        extra = [Colour.RED.value, Point(1).x, Pair(2).left, self.record.twice().a, Record(a=0, names=["x"]).names]
        return helpers.shout(tup), extra

def lines():
    yield (helpers.shout("a"),)

topo = Topology("app")
source = topo.spout("lines", lines, fields=("line",))
topo.bolt("shout", Shout(), source.custom(lambda values, count: len(helpers.shout("a")) % count))
"""

SENDER = """
import sys
import threading
sys.path.insert(0, {folder!r})
import app
from penstock.topology.shipping import to_bytes
app.topo.check()
open({file!r}, "wb").write(to_bytes(app.topo))
"""

RECEIVER = """
from penstock.topology.shipping import from_bytes
import msgspec
topo = from_bytes(open({file!r}, "rb").read())
shout = topo.components["shout"].logic
print(shout.process("blue"))
record = shout.record
print(msgspec.json.encode(record).decode(), record == type(record)(a=1), msgspec.json.decode(b'{{"type":"r","a":1}}', type=type(record)) == record)
print(topo.components["shout"].inputs[0].grouping.route((), 2))
print(next(topo.components["lines"].logic.function()))
"""  # noqa: E501 - one statement


def run(script: str, cwd: Path) -> str:
    finished = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=cwd, timeout=60)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def test_code_that_is_not_installed_travels_along(tmp_path: Path) -> None:
    source, elsewhere, shipped = tmp_path / "source", tmp_path / "elsewhere", str(tmp_path / "shipped")
    source.mkdir()
    elsewhere.mkdir()
    (source / "helpers.py").write_text(HELPERS)
    (source / "app.py").write_text(APP)
    run(SENDER.format(folder=str(source), file=shipped), elsewhere)
    assert run(RECEIVER.format(file=shipped), elsewhere).splitlines() == [
        "('BLUE', [1, 1, 2, 2, ['x']])",
        '{"type":"r","b":2,"n":[],"a":1} True True',
        "1",
        "('A',)",
    ]


def test_what_arrives_is_what_was_sent() -> None:
    sent = everything()
    arrived = from_bytes(to_bytes(sent))
    assert arrived.name == sent.name
    assert arrived.describe() == sent.describe()
    arrived.check()
    assert [spec.streams for spec in arrived.components.values()] == [spec.streams for spec in sent.components.values()]


def test_cloudpickle_is_left_as_it_was() -> None:
    before = cloudpickle.list_registry_pickle_by_value()
    to_bytes(everything())
    assert cloudpickle.list_registry_pickle_by_value() == before


def test_what_is_installed_goes_by_name() -> None:
    shipped = to_bytes(everything())
    assert b"penstock.topology.topology" in shipped
    assert len(shipped) < 20_000  # none of our own code


def test_what_cannot_travel_is_refused_before_it_is_sent() -> None:
    topo, source = topology_with_numbers()
    same = Same()
    same.lock = threading.Lock()  # type: ignore[attr-defined]
    topo.bolt("same", same, source.shuffle())
    with pytest.raises(TopologyError, match=r"attribute lock of type _thread\.lock cannot be shipped"):
        to_bytes(topo)
