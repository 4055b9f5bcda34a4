"""Commands from another process."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.devcluster.control import ControlServer, Order, Slow, Stop, Survey, ask
from penstock.devcluster.nodes import NodeStatus
from penstock.devcluster.settings import Shape
from penstock.errors import DevClusterError


class Recorded:
    """A cluster that only writes down what it is asked for."""

    master_url = "spark://127.0.0.1:7077"
    nodes = (NodeStatus(number=0, address="127.18.0.10", namespace=None, state="up", shape=Shape(), processes=1),)

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def cut_off(self, node: int) -> None:
        self.calls.append(("cut_off", node))

    def rejoin(self, node: int) -> None:
        self.calls.append(("rejoin", node))

    def kill(self, node: int) -> None:
        message = f"there is no node {node}"
        raise DevClusterError(message)

    def kill_executors(self, node: int) -> None:
        self.calls.append(("kill_executors", node))

    def restart(self, node: int) -> None:
        self.calls.append(("restart", node))

    def slow(self, node: int, *, rate_bits_per_s: int | None = None, delay_s: float | None = None) -> None:
        _ = Shape(rate_bits_per_s=rate_bits_per_s, delay_s=delay_s)
        self.calls.append(("slow", node, rate_bits_per_s, delay_s))

    def ask_to_stop(self) -> None:
        self.calls.append(("stop",))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Deeper than a socket's path can be long."""
    deep = tmp_path / ("deep" * 30)
    deep.mkdir()
    return deep


def short_path(folder: Path) -> str:
    (folder.parent / "short").symlink_to(folder)
    return str(folder.parent / "short" / "control")


@pytest.fixture
def cluster() -> Recorded:
    return Recorded()


@pytest.fixture
def served(cluster: Recorded, folder: Path) -> Iterator[Path]:
    server = ControlServer(cluster, folder)
    yield folder
    server.close()


def test_what_is_asked_for_is_done_and_answered_with_the_nodes(cluster: Recorded, served: Path) -> None:
    assert ask(served, Order(what="cut_off", node=2)).nodes == cluster.nodes
    ask(served, Order(what="rejoin", node=2))
    ask(served, Order(what="kill_executors", node=0))
    ask(served, Order(what="restart", node=1))
    ask(served, Slow(node=0, rate_bits_per_s=10_000, delay_s=None))
    assert ask(served, Survey()).master_url == cluster.master_url
    ask(served, Stop())

    assert cluster.calls == [
        ("cut_off", 2),
        ("rejoin", 2),
        ("kill_executors", 0),
        ("restart", 1),
        ("slow", 0, 10_000, None),
        ("stop",),
    ]


def test_why_something_was_not_done_is_told(served: Path) -> None:
    with pytest.raises(DevClusterError, match="there is no node 7"):
        ask(served, Order(what="kill", node=7))
    with pytest.raises(DevClusterError, match="rate_bits_per_s must be at least 8000, got 5"):
        ask(served, Slow(node=0, rate_bits_per_s=5, delay_s=None))


@pytest.mark.parametrize("rubbish", [b"{", b'{"type": "Order", "what": "close", "node": 1}', b"\0" * 1000])
def test_rubbish_is_refused_and_does_no_harm(cluster: Recorded, served: Path, rubbish: bytes) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.connect(short_path(served))
        connection.send(rubbish)
        assert b'"error":"' in connection.recv(10_000)
    assert cluster.calls == []
    ask(served, Survey())


def test_who_hangs_up_does_no_harm(served: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.connect(short_path(served))
    ask(served, Survey())


def test_a_cluster_that_is_not_there_is_named(folder: Path) -> None:
    with pytest.raises(DevClusterError, match=f"cluster {folder.name} cannot be reached"):
        ask(folder, Survey())


def test_an_owner_that_does_not_answer_is_named(cluster: Recorded, served: Path) -> None:
    busy, go_on = threading.Event(), threading.Event()

    def dawdle(_: int) -> None:
        busy.set()
        go_on.wait()

    cluster.rejoin = dawdle  # type: ignore[assignment, method-assign]
    asking = threading.Thread(target=ask, args=(served, Order(what="rejoin", node=0)))
    asking.start()
    busy.wait()
    with pytest.raises(DevClusterError, match=r"did not answer within 0\.01 s"):
        ask(served, Survey(), timeout_s=0.01)
    go_on.set()
    asking.join()
