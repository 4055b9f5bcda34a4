"""The part that cannot be shipped is named."""

# ruff: noqa: ARG005

from __future__ import annotations

import functools
import threading
from typing import Any

import pytest

from tests.topology.complaints import Numbers, Same, complaints, only_complaint, topology_with_numbers

LOCK = threading.Lock()


class Connection:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.name = "db"


class Slotted:
    __slots__ = ("lock",)

    def __init__(self) -> None:
        self.lock = threading.Lock()


class Closing(Connection):
    """Knows how to travel: without its lock."""

    def __getstate__(self) -> dict[str, Any]:
        return {"name": self.name}


def bolt_with(**attributes: Any) -> Same:
    bolt = Same()
    vars(bolt).update(attributes)
    return bolt


def complaint_about(bolt: Any) -> str:
    topo, source = topology_with_numbers()
    topo.bolt("enrich", bolt, source.shuffle(), fields=("n",))
    return only_complaint(topo, shipped=True).partition("): ")[2]


@pytest.mark.parametrize(
    ("attributes", "path"),
    [
        ({"lock": LOCK}, "lock"),
        ({"conn": Connection()}, "conn.lock"),
        ({"conns": [1, {"main": Connection()}]}, "conns[1]['main'].lock"),
        ({"slotted": Slotted()}, "slotted.lock"),
        ({"fine": 1, "pair": (2, LOCK)}, "pair[1]"),
    ],
)
def test_an_attribute_is_named_by_its_path(attributes: dict[str, Any], path: str) -> None:
    assert complaint_about(bolt_with(**attributes)) == (
        f"attribute {path} of type _thread.lock cannot be shipped to a worker (cannot pickle '_thread.lock' object); "
        "make it in open()"
    )


def test_a_cycle_does_not_lead_round_and_round() -> None:
    bolt = bolt_with(conn=Connection())
    vars(bolt)["conn"].owner = bolt
    assert "attribute conn" in complaint_about(bolt)


def test_a_variable_of_a_function_is_named() -> None:
    conn = Connection()
    assert complaint_about(lambda tup: conn.name).endswith(
        "<lambda>: variable conn.lock of type _thread.lock cannot be shipped to a worker "
        "(cannot pickle '_thread.lock' object); make it inside the function"
    )


def test_a_global_of_a_function_is_named() -> None:
    assert "<lambda>: global LOCK of type _thread.lock cannot be shipped" in complaint_about(lambda tup: LOCK)


def test_an_argument_of_a_partial_is_named() -> None:
    assert "argument file.lock of type" in complaint_about(functools.partial(print, file=Connection()))


def test_the_function_of_a_partial_is_looked_into() -> None:
    conn = Connection()
    assert "function variable conn.lock of type" in complaint_about(functools.partial(lambda tup: conn.name))


def test_a_default_is_named() -> None:
    conn = Connection()
    assert "default 0.lock of type _thread.lock" in complaint_about(lambda tup, conn=conn: conn.name)


def test_the_object_of_a_method_is_named() -> None:
    class Enricher:
        def __init__(self) -> None:
            self.lock = threading.Lock()

        def enrich(self, tup: Any) -> Any:
            return tup

    assert "__self__.lock of type _thread.lock" in complaint_about(Enricher().enrich)


def test_a_class_attribute_is_named() -> None:
    class Locked(Same):
        lock = threading.Lock()

    assert "class test_a_class_attribute_is_named.<locals>.Locked.lock of type _thread.lock" in complaint_about(
        Locked()
    )


def test_a_custom_grouping_is_looked_into() -> None:
    topo, source = topology_with_numbers()
    topo.bolt("same", Same(), source.custom(lambda values, count: int(LOCK.locked())))
    assert "numbers.custom(" in only_complaint(topo, shipped=True)
    assert "global LOCK of type _thread.lock" in only_complaint(topo, shipped=True)


def test_combine_is_looked_into() -> None:
    topo, source = topology_with_numbers()
    topo.bolt("same", Same(), source.to_one(combine=lambda a, b: (a.n + b.n + LOCK.locked(),)))
    assert "numbers.to_one(" in only_complaint(topo, shipped=True)
    assert "global LOCK of type _thread.lock" in only_complaint(topo, shipped=True)


def test_spouts_are_looked_into() -> None:
    topo, _ = topology_with_numbers()
    more = Numbers()
    more.thread = threading.current_thread()  # type: ignore[attr-defined]
    topo.spout("more", more)
    assert "attribute thread." in only_complaint(topo, shipped=True)


def test_what_knows_how_to_travel_passes() -> None:
    topo, source = topology_with_numbers()
    topo.bolt("enrich", bolt_with(conn=Closing()), source.shuffle())
    assert complaints(topo, shipped=True) == []


def test_what_stays_here_need_not_travel() -> None:
    topo, source = topology_with_numbers()
    topo.bolt("enrich", bolt_with(lock=LOCK), source.shuffle())
    assert complaints(topo, shipped=False) == []
